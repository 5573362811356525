-- A bakery's orders, with types that only PostgreSQL has. load.py runs this in a database of its own.
CREATE TYPE channel AS ENUM ('shop', 'phone', 'web');

CREATE TABLE products (
    id integer PRIMARY KEY,
    name text NOT NULL UNIQUE,
    price numeric(6, 2) NOT NULL,
    allergens text[] NOT NULL DEFAULT '{}',
    facts jsonb NOT NULL DEFAULT '{}'
);
COMMENT ON COLUMN products.price IS 'in euros, with tax';
COMMENT ON COLUMN products.facts IS 'keys: organic (boolean), grams (number)';

CREATE TABLE orders (
    id integer PRIMARY KEY,
    customer text NOT NULL,
    placed timestamptz NOT NULL,
    via channel NOT NULL
);
COMMENT ON TABLE orders IS 'one row for each order; what was ordered is in order_lines';

CREATE TABLE order_lines (
    order_id integer NOT NULL REFERENCES orders,
    product_id integer NOT NULL REFERENCES products,
    quantity integer NOT NULL,
    PRIMARY KEY (order_id, product_id)
);

INSERT INTO products VALUES
    (1, 'Rye loaf', 4.20, '{gluten}', '{"organic": true, "grams": 1000}'),
    (2, 'Croissant', 1.90, '{gluten,milk,egg}', '{"organic": false, "grams": 70}'),
    (3, 'Almond cake', 3.60, '{nuts,egg}', '{"organic": true, "grams": 120}'),
    (4, 'Pretzel', 1.10, '{gluten}', '{"grams": 85}'),
    (5, 'Rice cracker', 2.40, '{}', '{"organic": true}');

INSERT INTO orders VALUES
    (1, 'Ada Brandt', '2024-03-01 08:15+01', 'shop'),
    (2, 'Boris Lang', '2024-03-01 23:40+01', 'web'),
    (3, 'ada brandt', '2024-03-02 09:00+01', 'phone'),
    (4, 'Chen Wei', '2024-03-31 23:30+02', 'web'),
    (5, 'Dora Klein', '2024-04-01 07:30+02', 'shop');

INSERT INTO order_lines VALUES
    (1, 1, 1), (1, 2, 4), (2, 3, 2), (3, 1, 2), (3, 4, 10), (4, 2, 6), (4, 3, 1), (5, 4, 3);
