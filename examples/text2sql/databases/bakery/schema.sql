CREATE TABLE customers (
  customer_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  city TEXT NOT NULL,
  email TEXT,
  joined_on TEXT NOT NULL,
  loyalty_points INTEGER NOT NULL
);
CREATE TABLE staff (
  staff_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  hired_on TEXT NOT NULL,
  hourly_wage REAL NOT NULL,
  manager_id INTEGER REFERENCES staff (staff_id)
);
CREATE TABLE products (
  product_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  category TEXT NOT NULL,
  price REAL NOT NULL,
  calories INTEGER,
  vegan INTEGER NOT NULL
);
CREATE TABLE orders (
  order_id INTEGER PRIMARY KEY,
  customer_id INTEGER REFERENCES customers (customer_id),
  staff_id INTEGER NOT NULL REFERENCES staff (staff_id),
  ordered_on TEXT NOT NULL,
  channel TEXT NOT NULL,
  tip REAL
);
CREATE TABLE order_lines (
  order_id INTEGER NOT NULL REFERENCES orders (order_id),
  line_no INTEGER NOT NULL,
  product_id INTEGER NOT NULL REFERENCES products (product_id),
  quantity INTEGER NOT NULL,
  unit_price REAL NOT NULL,
  PRIMARY KEY (order_id, line_no)
);
CREATE TABLE reviews (
  review_id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES products (product_id),
  customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
  stars INTEGER NOT NULL,
  comment TEXT,
  written_on TEXT NOT NULL
);
