"""The version of all manifests, the order of the crates, and the notes of a release."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import versions


class Versions(unittest.TestCase):
    def test_all_places_have_one_version(self):
        version = versions.read("Cargo.toml")["workspace"]["package"]["version"]
        self.assertEqual(versions.wrong(version), [])
        places = [place for place, _ in versions.versions()]
        for place in ("Cargo.toml, sordino-net", "Cargo.lock, sordino-cli", "js/package.json", "crates/lwe/Cargo.toml, sordino-lattice"):
            self.assertIn(place, places)
        self.assertIn(f"js/package.json has {version}, expected 9.9.9", versions.wrong("9.9.9"))

    def test_a_crate_comes_after_what_it_needs(self):
        order = versions.order()
        for name, manifest in versions.manifests():
            package = manifest.get("package", {}).get("name")
            for need, _ in versions.needs(manifest) if package in order else ():
                if need in order:
                    self.assertLess(order.index(need), order.index(package), name)
        self.assertNotIn("sordino-testkit", order)

    def test_notes_need_a_section_with_a_date(self):
        text = "# Changelog\n\n## 0.3.0 (not yet released)\n\nNew.\n\n## 0.2.0 (2026-12-01)\n\nOld.\n"
        self.assertEqual(versions.notes("0.3.0", text), ("New.", False))
        self.assertEqual(versions.notes("0.2.0", text), ("Old.", True))
        self.assertIsNone(versions.notes("0.2", text))


if __name__ == "__main__":
    unittest.main()
