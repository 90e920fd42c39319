"""Write the tables that predictree ships, from their sources: fewer columns, in words and units.

    python benchmarks/ship.py --data-dir DIR

DIR holds ``suite/bike_sharing_hour.csv.gz`` and ``suite/wine_quality.csv.gz``. What becomes of
them, and whose they are, is told in ``src/predictree/data/tables/SOURCES.md``.
"""

import argparse
import gzip
from pathlib import Path

import pandas as pd

TABLES = Path(__file__).parents[1] / "src" / "predictree" / "data" / "tables"
DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
WEATHER = {1: "clear", 2: "mist", 3: "light rain or snow", 4: "heavy rain or snow"}


def bikes(given: pd.DataFrame) -> pd.DataFrame:
    """Return the hours of bike rentals: temperatures in °C, humidity in %, wind in km/h."""
    return pd.DataFrame(
        {
            "year": given["yr"] + 2011,
            "month": given["mnth"],
            "hour": given["hr"],
            "weekday": given["weekday"].map(dict(enumerate(DAYS))),
            "working_day": given["workingday"].map({0: "no", 1: "yes"}),
            "weather": given["weathersit"].map(WEATHER),
            "temperature": (given["temp"] * 47 - 8).round(1),
            "humidity": (given["hum"] * 100).round().astype(int),
            "wind": (given["windspeed"] * 67).round().astype(int),
            "rentals": given["cnt"],
        }
    )


def wines(given: pd.DataFrame) -> pd.DataFrame:
    """Return the wines, and whether tasters gave them 6 points of 10 or more."""
    names = {name: name.replace(" ", "_") for name in given.columns}
    found = given.rename(columns=names)
    found["rated"] = (found.pop("quality") >= 6).map({True: "good", False: "fair"})
    return found


MADE = {"bikes": ("bike_sharing_hour", bikes), "wines": ("wine_quality", wines)}


def main() -> None:
    """Write the files, the same bytes every time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    folder = parser.parse_args().data_dir / "suite"
    for name, (source, make) in MADE.items():
        text = make(pd.read_csv(folder / f"{source}.csv.gz")).to_csv(index=False)
        path = TABLES / f"{name}.csv.gz"
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
