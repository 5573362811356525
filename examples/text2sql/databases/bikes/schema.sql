CREATE TABLE stations (
  station_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  district TEXT NOT NULL,
  capacity INTEGER NOT NULL,
  opened_on TEXT NOT NULL,
  closed_on TEXT
);
CREATE TABLE bikes (
  bike_id INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  kind TEXT NOT NULL,
  bought_on TEXT NOT NULL,
  price INTEGER NOT NULL,
  retired_on TEXT
);
CREATE TABLE riders (
  rider_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  birth_year INTEGER,
  joined_on TEXT NOT NULL,
  home_station_id INTEGER REFERENCES stations (station_id)
);
CREATE TABLE trips (
  trip_id INTEGER PRIMARY KEY,
  bike_id INTEGER NOT NULL REFERENCES bikes (bike_id),
  rider_id INTEGER REFERENCES riders (rider_id),
  start_station_id INTEGER NOT NULL REFERENCES stations (station_id),
  end_station_id INTEGER REFERENCES stations (station_id),
  started_at TEXT NOT NULL,
  minutes INTEGER,
  distance_km REAL
);
CREATE TABLE repairs (
  repair_id INTEGER PRIMARY KEY,
  bike_id INTEGER NOT NULL REFERENCES bikes (bike_id),
  part TEXT NOT NULL,
  reported_on TEXT NOT NULL,
  fixed_on TEXT,
  cost REAL
);
