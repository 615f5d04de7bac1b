#!/usr/bin/env python3
"""Reputation: recomputes every score from an export of the ledger, after docs/protocols/reputation.md.

    python3 reputation.py EXPORT [--size N]

EXPORT is a folder that `hearthbus ledger export` wrote. Prints JSON: formula_hash, as_of_size, epoch, and the rows of
every subject with the events behind them. Needs nothing but Python's standard library. It trusts the export:
auditor.py verifies that.
"""

import argparse
import hashlib
import json
import math
import os
import re
import struct
import sys
from datetime import datetime

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = os.path.join(HERE, "..", "docs", "protocols", "reputation.md")

BUNDLE = 256


def read_formula(path):
    """The one JSON block of the document is the formula."""
    with open(path, encoding="utf-8") as document:
        block = re.search(r"```json\n(.*?)```", document.read(), re.DOTALL)
    formula = json.loads(block.group(1))
    # The formula has ASCII keys, whole numbers and short texts only: for these, this is RFC 8785.
    canonical = json.dumps(formula, sort_keys=True, separators=(",", ":"))
    return formula, hashlib.sha256(canonical.encode()).hexdigest()


def tile_name(number):
    """C2SP tlog-tiles: 1234067 is x001/x234/067."""
    parts = []
    while True:
        parts.insert(0, "%03d" % (number % 1000))
        number //= 1000
        if number == 0:
            break
    return "/".join(["x" + part for part in parts[:-1]] + [parts[-1]])


def checkpoint_size(folder):
    with open(os.path.join(folder, "checkpoint"), encoding="utf-8") as note:
        return int(note.read().split("\n")[1])


def read_entries(folder, size):
    for number in range((size + BUNDLE - 1) // BUNDLE):
        wanted = min(BUNDLE, size - number * BUNDLE)
        path = os.path.join(folder, "tile", "entries", *tile_name(number).split("/"))
        if not os.path.isfile(path):
            widths = [int(name) for name in os.listdir(path + ".p") if int(name) >= wanted]
            path = os.path.join(path + ".p", str(min(widths)))
        with open(path, "rb") as bundle:
            data = bundle.read()
        place = 0
        for _ in range(wanted):
            (length,) = struct.unpack_from(">H", data, place)
            yield json.loads(data[place + 2 : place + 2 + length].decode("utf-8"))
            place += 2 + length


def milliseconds(at):
    moment = datetime.fromisoformat(at.replace("Z", "+00:00"))
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000


def caller_subject(key):
    if not key or key.startswith("service:"):
        return None
    if key.startswith("peer:"):
        return key[len("peer:") :].split("/", 1)[0]
    return "agent:" + key


def device_subject(target):
    return target if target.startswith("device:") else "device:" + target


def voter_subject(voter):
    return voter[len("node:") :] if voter.startswith("node:") else "agent:" + voter


CHANGING = {"writes", "sensitive", "admin"}
DECIDED = {
    "agent.key",
    "approval.approved",
    "approval.denied",
    "device.approved",
    "device.revoked",
    "grant.created",
    "stop.engaged",
    "stop.released",
    "token.created",
    "token.revoked",
}


class Book:
    def __init__(self, formula):
        self.formula = formula
        self.rows = {}
        self.size = 0
        self.epoch = 0
        self.calls = {}
        self.exits = {}
        self.refusals = set()
        self.offences = set()

    # Numbers

    def decayed(self, row, domain):
        neutral, ceiling = self.formula["neutral"], self.formula["ceiling"]
        distance = abs(row["score"] - neutral)
        for _ in range(self.epoch - row["last"]):
            if distance == 0:
                break
            distance = distance * (ceiling - self.formula["decay"][domain]) // ceiling
        decayed = neutral - distance if row["score"] < neutral else neutral + distance
        return min(decayed, ceiling - row["scar"])

    def count(self, entry, rule, **subjects):
        numbers = self.formula["rules"][rule]
        domain = numbers["domain"]
        for column in ("caller", "device", "named"):
            subject, delta = subjects.get(column), numbers.get(column)
            if subject is None or delta is None:
                continue
            fresh = {"score": self.formula["neutral"], "scar": 0, "ban": 0, "last": self.epoch, "gained": 0, "events": []}
            row = self.rows.setdefault((subject, domain), fresh)
            before = self.decayed(row, domain)
            gained = row["gained"] if row["last"] == self.epoch else 0
            if delta > 0:
                delta = min(delta, self.formula["gain_per_epoch"] - gained)
                gained += delta
            if rule in self.formula["fraud"]["rules"]:
                row["scar"] = min(self.formula["ceiling"], row["scar"] + self.formula["fraud"]["scar"])
                row["ban"] = self.epoch + self.formula["fraud"]["ban_epochs"]
            score = max(0, min(self.formula["ceiling"] - row["scar"], before + delta))
            row.update(score=score, last=self.epoch, gained=gained)
            row["events"].append([entry["seq"], rule, score - before, score])

    # Entries

    def read(self, entry):
        self.size = entry["seq"] + 1
        epoch = max(self.epoch, milliseconds(entry["at"]) // (1000 * self.formula["epoch_seconds"]))
        if epoch != self.epoch:
            self.epoch = epoch
            self.refusals.clear()
            self.exits = {call: known for call, known in self.exits.items() if known[1] >= epoch - 1}
        kind = entry["kind"]
        if kind == "approval.approved" and "given_back_by" in entry:
            return
        if kind == "call.enter":
            if entry.get("effect") not in (None, "reads"):
                self.calls[entry["seq"]] = entry
        elif kind == "call.exit":
            self.read_exit(entry)
        elif kind == "call.aborted":
            self.calls.pop(entry.get("call"), None)
        elif kind == "call.outcome":
            self.read_outcome(entry)
        elif kind in ("approval.approved", "approval.denied"):
            rule = "person-approved" if kind == "approval.approved" else "person-denied"
            self.count(entry, rule, caller=caller_subject(entry.get("principal")))
        elif kind in ("device.tools.withheld", "device.tools.approved") and "device" in entry:
            rule = "definition-withheld" if kind == "device.tools.withheld" else "definition-approved"
            self.count(entry, rule, device=device_subject(entry["device"]))
        elif kind == "consensus.voted" and "voter" in entry:
            self.count(entry, "vote-cast", named=voter_subject(entry["voter"]))
        elif kind == "consensus.equivocated" and "voter" in entry:
            offence = (entry.get("approval"), entry["voter"])
            if offence not in self.offences:
                self.offences.add(offence)
                self.count(entry, "equivocated", named=voter_subject(entry["voter"]))
        elif kind == "community.forked" and "signer" in entry:
            self.count(entry, "membership-forked", named=entry["signer"])
        if kind in DECIDED and entry.get("by") != "quorum":
            self.count(entry, "decision-made", named=caller_subject(entry.get("by")))

    def read_exit(self, entry):
        enter = self.calls.pop(entry.get("call"), None)
        if enter is None:
            return
        effect = entry.get("effect", enter["effect"])
        if effect == "reads" or entry.get("dry_run") is True or entry.get("replayed") is True:
            return
        caller, target = caller_subject(enter.get("principal")), entry.get("target")
        device = None if target is None or effect == "records" else device_subject(target)
        if device is not None:
            self.exits[enter["seq"]] = (device, self.epoch)
        fault = entry.get("fault")
        rule = None
        if entry.get("outcome") == "ok":
            rule = "call-done" if effect in CHANGING else "record-done"
        elif fault == "invalid-arguments":
            rule = "call-malformed"
        elif fault == "not-permitted":
            refusal = (caller, enter.get("tool"), target)
            rule = "refusal-repeated" if refusal in self.refusals else "call-refused"
            self.refusals.add(refusal)
        elif effect in CHANGING and fault == "unknown-outcome":
            rule = "outcome-unknown"
        elif effect in CHANGING and fault in ("failed", "timed-out", "offline"):
            rule = "call-failed"
        if rule is not None:
            self.count(entry, rule, caller=caller, device=device)

    def read_outcome(self, entry):
        device, _ = self.exits.pop(entry.get("call"), (None, None))
        if device is None:
            return
        rule = {"reached": "arrived-later", "not-reached": "never-arrived"}.get(entry.get("outcome"))
        if rule is not None:
            self.count(entry, rule, device=device)

    # Answers

    def gates(self, subject):
        scores = {domain: self.formula["neutral"] for domain in self.formula["decay"]}
        ban = 0
        for (owner, domain), row in self.rows.items():
            if owner == subject:
                scores[domain] = self.decayed(row, domain)
                ban = max(ban, row["ban"])
        banned = ban > self.epoch
        limits = self.formula["gates"]
        return {
            "max_parallel_tasks": 0 if banned else min(limits["max_parallel_tasks"], math.isqrt(scores["execution"])),
            "rate_limit_bonus": max(0, scores["execution"].bit_length() - 1),
            "stake_discount_bps": scores["execution"] // 2,
            "can_arbitrate": not banned and all(scores[key] >= limits["arbitrate"][key] for key in limits["arbitrate"]),
            "can_govern": not banned and scores["governance"] >= limits["govern"]["governance"],
        }

    def report(self, formula_hash):
        subjects = {}
        for (subject, domain), row in self.rows.items():
            told = subjects.setdefault(subject, {"rows": {}, "gates": self.gates(subject)})
            told["rows"][domain] = {
                "score": self.decayed(row, domain),
                "scar_bps": row["scar"],
                "ban_until_epoch": row["ban"],
                "last_activity_epoch": row["last"],
                "events": row["events"],
            }
        return {
            "formula_hash": formula_hash,
            "as_of_size": self.size,
            "epoch": self.epoch,
            "subjects": subjects,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("export")
    parser.add_argument("--size", type=int, help="count only so many entries")
    parser.add_argument("--formula", default=DOCUMENT, help="the document with the formula")
    options = parser.parse_args()
    if not os.path.isfile(os.path.join(options.export, "checkpoint")):
        parser.error("%s is not a folder that `hearthbus ledger export` wrote" % options.export)
    formula, formula_hash = read_formula(options.formula)
    held = checkpoint_size(options.export)
    size = held if options.size is None else options.size
    if size > held:
        sys.exit("the export holds %d entries" % held)
    book = Book(formula)
    for entry in read_entries(options.export, size):
        book.read(entry)
    json.dump(book.report(formula_hash), sys.stdout, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
