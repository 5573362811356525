CREATE TABLE singers (
  singer_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  chinese_name TEXT,
  voice TEXT NOT NULL,
  joined_year INTEGER NOT NULL,
  left_year INTEGER,
  section_leader_id INTEGER REFERENCES singers (singer_id)
);
CREATE TABLE composers (
  composer_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  chinese_name TEXT,
  country TEXT,
  birth_year INTEGER NOT NULL,
  death_year INTEGER
);
CREATE TABLE pieces (
  piece_id INTEGER PRIMARY KEY,
  title TEXT NOT NULL,
  composer_id INTEGER REFERENCES composers (composer_id),
  language TEXT NOT NULL,
  minutes REAL NOT NULL,
  difficulty INTEGER
);
CREATE TABLE concerts (
  concert_id INTEGER PRIMARY KEY,
  title TEXT NOT NULL,
  venue TEXT NOT NULL,
  held_on TEXT NOT NULL,
  ticket_price REAL NOT NULL,
  tickets_sold INTEGER
);
CREATE TABLE programme (
  concert_id INTEGER NOT NULL REFERENCES concerts (concert_id),
  position INTEGER NOT NULL,
  piece_id INTEGER NOT NULL REFERENCES pieces (piece_id),
  soloist_id INTEGER REFERENCES singers (singer_id),
  PRIMARY KEY (concert_id, position)
);
CREATE TABLE attendance (
  singer_id INTEGER NOT NULL REFERENCES singers (singer_id),
  concert_id INTEGER NOT NULL REFERENCES concerts (concert_id),
  status TEXT NOT NULL,
  PRIMARY KEY (singer_id, concert_id)
);
