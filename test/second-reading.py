#!/usr/bin/env python3
"""A second reading of docs/protocols/reputation.md: another author than that of examples/reputation.py, who had the
document and no code. Makes a random history, computes every score and event of it, and prints both as JSON.

    python3 second-reading.py SEED LENGTH
"""

import datetime
import json
import pathlib
import random
import re
import sys

DOCUMENT = pathlib.Path(__file__).parent.parent / "docs" / "protocols" / "reputation.md"
FORMULA = json.loads(re.search(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S).group(1))
NEUTRAL, CEILING = FORMULA["neutral"], FORMULA["ceiling"]
DECISIONS = "agent.key approval.approved approval.denied device.approved device.revoked grant.created stop.engaged stop.released token.created token.revoked".split()


def random_history(seed, length):
    rnd = random.Random(seed)
    who = lambda: rnd.choice(["claude", "local", "service:history", "peer:ed25519:aa", "peer:ed25519:aa/bob", "ändi", "owner", "peer:ed25519:bb/x/y"])
    faults = ["invalid-arguments", "not-permitted", "not-permitted", "unknown-outcome", "failed", "timed-out", "offline", "busy", "cancelled", None]
    at_ms, entries, open_calls, ended = 1767225600000, [], [], []
    for seq in range(length):
        # Also backwards: a clock may be set.
        at_ms += rnd.choice([0, 1000, 60000, 600000, 3600000, -7200000, 86400000 * rnd.choice([0, 0, 0, 1, 9])])
        lot = rnd.random()
        if lot < 0.3:
            entry = {"kind": "call.enter", "tool": rnd.choice("abc"), "principal": who(), "effect": rnd.choice(["reads", "records", "writes", "sensitive", "admin", None])}
            open_calls.append(seq)
        elif lot < 0.65 and open_calls:
            call = open_calls.pop(rnd.randrange(len(open_calls)))
            ended.append(call)
            target = rnd.choice(["homeseer:ref:1", "device:lamp", "ebus:main:hc0/x", None, "device:"])
            entry = {"kind": "call.exit", "call": call, "target": target, "effect": rnd.choice([None, None, None, "reads", "records", "writes"])}
            entry |= {"outcome": "ok"} if rnd.random() < 0.4 else {"outcome": rnd.choice(["error", "denied"]), "fault": rnd.choice(faults)}
            entry |= {name: True for name in ("dry_run", "replayed") if rnd.random() < 0.05}
        elif lot < 0.72:
            entry = {"kind": "call.outcome", "call": rnd.choice(ended[-8:] + [0]), "outcome": rnd.choice(["reached", "not-reached", "unclear"])}
        elif lot < 0.74 and open_calls:
            entry = {"kind": "call.aborted", "call": open_calls.pop(0)}
        elif lot < 0.8:
            by = rnd.choice(["owner", "eva", "quorum", "peer:ed25519:aa", "service:x", None])
            entry = {"kind": rnd.choice(["approval.approved", "approval.denied"]), "approval": "x", "principal": who(), "by": by}
            entry |= {"given_back_by": "t"} if rnd.random() < 0.1 else {}
        elif lot < 0.86:
            entry = {"kind": rnd.choice([each for each in DECISIONS if not each.startswith("approval")]), "by": rnd.choice(["owner", "eva", "quorum", "service:x", None])}
        elif lot < 0.9:
            entry = {"kind": rnd.choice(["device.tools.withheld", "device.tools.approved"]), "device": rnd.choice(["lamp", "device:lamp", "02:5e"])}
        elif lot < 0.95:
            entry = {"kind": "consensus.voted", "approval": rnd.choice("rst"), "voter": rnd.choice(["eva", "node:ed25519:aa", "owner"])}
        elif lot < 0.97:
            entry = {"kind": "consensus.equivocated", "approval": rnd.choice("rstuv"), "voter": rnd.choice(["eva", "node:ed25519:aa"])}
        elif lot < 0.98:
            entry = {"kind": "community.forked", "signer": rnd.choice(["ed25519:bb", "ed25519:aa"]), "number": 1}
        else:
            entry = {"kind": "thought", "task_id": "T"}
        time = datetime.datetime.fromtimestamp(at_ms // 1000, datetime.timezone.utc)
        at = time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03d}Z"
        entries.append({name: value for name, value in {"v": 1, "seq": seq, "at": at, **entry}.items() if value is not None})
    return entries


def caller_of(word):
    if word is None or word.startswith("service:"):
        return None
    return word[5:].split("/")[0] if word.startswith("peer:") else "agent:" + word


def device_of(word):
    return word if word is None or word.startswith("device:") else "device:" + word


def voter_of(word):
    return word[5:] if word.startswith("node:") else "agent:" + word


def epoch_of(at):
    time = datetime.datetime.fromisoformat(at.replace("Z", "+00:00"))
    return int((time - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(seconds=FORMULA["epoch_seconds"]))


def decayed(row, domain, epochs):
    score = row["score"]
    distance = abs(score - NEUTRAL)
    for _ in range(epochs):
        if distance == 0:
            break
        distance = distance * (CEILING - FORMULA["decay"][domain]) // CEILING
    return min(NEUTRAL + distance if score >= NEUTRAL else NEUTRAL - distance, CEILING - row["scar"])


class Book:
    def __init__(self):
        self.rows, self.gained, self.epoch = {}, {}, None
        self.calls, self.exits, self.refused, self.equivocated = {}, {}, {}, set()

    def give(self, seq, rule, column, subject):
        terms = FORMULA["rules"][rule]
        if column not in terms or subject is None:
            return
        domain, delta, epoch = terms["domain"], terms[column], self.epoch
        row = self.rows.setdefault((subject, domain), {"score": NEUTRAL, "scar": 0, "ban": 0, "last": epoch, "events": []})
        before = decayed(row, domain, epoch - row["last"])
        if rule in FORMULA["fraud"]["rules"]:
            row["scar"] = min(CEILING, row["scar"] + FORMULA["fraud"]["scar"])
            row["ban"] = epoch + FORMULA["fraud"]["ban_epochs"]
        if delta > 0:
            gained = self.gained.get((subject, domain, epoch), 0)
            delta = max(0, min(delta, FORMULA["gain_per_epoch"] - gained))
            self.gained[(subject, domain, epoch)] = gained + delta
        row["score"] = max(0, min(before + delta, CEILING - row["scar"]))
        row["last"] = epoch
        row["events"].append([seq, rule, row["score"] - before, row["score"]])

    def end_call(self, entry):
        enter = self.calls.pop(entry["call"], None)
        if enter is None:
            return
        effect = entry.get("effect") or enter.get("effect")
        if effect == "reads" or entry.get("dry_run") or entry.get("replayed"):
            return
        changes, fault = effect in ("writes", "sensitive", "admin"), entry.get("fault")
        caller, device = caller_of(enter["principal"]), None if effect == "records" else device_of(entry.get("target"))
        self.exits[entry["call"]] = (self.epoch, device)
        rule = None
        if entry["outcome"] == "ok":
            rule = "call-done" if changes else "record-done"
        elif fault == "invalid-arguments":
            rule = "call-malformed"
        elif fault == "not-permitted":
            what = (caller, enter["tool"], entry.get("target"))
            rule = "refusal-repeated" if self.refused.get(what) == self.epoch else "call-refused"
            self.refused[what] = self.epoch
        elif changes and fault == "unknown-outcome":
            rule = "outcome-unknown"
        elif changes and fault in ("failed", "timed-out", "offline"):
            rule = "call-failed"
        if rule is not None:
            self.give(entry["seq"], rule, "caller", caller)
            self.give(entry["seq"], rule, "device", device)

    def read(self, entry):
        seq, kind = entry["seq"], entry["kind"]
        epoch = epoch_of(entry["at"])
        self.epoch = epoch if self.epoch is None else max(self.epoch, epoch)
        if kind == "approval.approved" and "given_back_by" in entry:
            return
        if kind == "call.enter" and entry.get("effect", "reads") != "reads":
            self.calls[seq] = entry
        elif kind == "call.aborted":
            self.calls.pop(entry["call"], None)
        elif kind == "call.exit":
            self.end_call(entry)
        elif kind == "call.outcome":
            ended, device = self.exits.get(entry["call"], (None, None))
            if device is not None and ended >= self.epoch - 1:
                del self.exits[entry["call"]]
                rule = {"reached": "arrived-later", "not-reached": "never-arrived"}.get(entry["outcome"])
                if rule is not None:
                    self.give(seq, rule, "device", device)
        elif kind in ("approval.approved", "approval.denied"):
            self.give(seq, "person-" + kind.split(".")[1], "caller", caller_of(entry["principal"]))
        elif kind in ("device.tools.withheld", "device.tools.approved"):
            self.give(seq, "definition-" + kind.split(".")[2], "device", device_of(entry["device"]))
        elif kind == "consensus.voted":
            self.give(seq, "vote-cast", "named", voter_of(entry["voter"]))
        elif kind == "consensus.equivocated" and (entry["approval"], entry["voter"]) not in self.equivocated:
            self.equivocated.add((entry["approval"], entry["voter"]))
            self.give(seq, "equivocated", "named", voter_of(entry["voter"]))
        elif kind == "community.forked":
            self.give(seq, "membership-forked", "named", entry["signer"])
        if kind in DECISIONS and entry.get("by") != "quorum":
            self.give(seq, "decision-made", "named", caller_of(entry.get("by")))


def main():
    entries, book = random_history(int(sys.argv[1]), int(sys.argv[2])), Book()
    for entry in entries:
        book.read(entry)
    rows = [
        {"node_id": subject, "domain": domain, **row, "score": decayed(row, domain, book.epoch - row["last"])}
        for (subject, domain), row in book.rows.items()
    ]
    print(json.dumps({"epoch": book.epoch, "entries": entries, "rows": rows}))


main()
