/**
 * Init: writes a first configuration file, with the most important keys and a pointer to the others.
 */
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createPrivateFolder } from '../core/folder-store.ts'
import { readSystemErrorCode, readErrorMessage } from '../core/thrown-error.ts'
import { EXIT_CODES } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'

/** Only keys that a newcomer decides on the first day: nobody would read a file with every key. */
const FIRST = `# Hearthbus. Every key, with its default: docs/running.md. An unknown key refuses to start.

# readonly refuses every change, whoever asks: a good first week.
mode: full

node:
  name: home

# Agents and people, on this machine only. To open it to others: a token first (hearthbus token create), then the host.
listen:
  host: 127.0.0.1
  port: 7420

# Heating. enh:host:port is an eBUS adapter with the enhanced protocol over TCP; where ebusd runs already, its command
# port does as well: ebusd:192.168.1.20:8888
# ebus:
#   buses:
#     - adapter: enh:192.168.1.20:9999

# HomeSeer HS4.
# homeseer:
#   url: http://192.168.1.5

# ESP32 voice devices on the LAN.
# devices:
#   enabled: true

# Other Hearthbus nodes; then: hearthbus mesh init, or hearthbus mesh join.
# mesh:
#   enabled: true

# Language models for agents and other nodes, from any OpenAI-compatible server. The key is in an environment variable.
# models:
#   endpoints:
#     - url: http://192.168.1.30:11434/v1
#       chat: [llama3.2]

# What you decide beforehand: trust (no approval), ask (always), forbid.
# guard:
#   rules:
#     - tool: hs4.scripts.run
#       says: forbid

# Who is told when a call waits for a person: a topic of ntfy, or a web hook. Then: hearthbus notify.
# notify:
#   - url: https://ntfy.example/hearthbus-k3x9
#     format: ntfy
`

/** Never overwrites a file, because it may contain an owner's rules. */
export function writeInitialConfig(path: string): CommandAnswer {
  try {
    createPrivateFolder(dirname(path))
    writeFileSync(path, FIRST, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const exists = readSystemErrorCode(error) === 'EEXIST'
    const text = exists
      ? `${path} is there already; it is left as it is.`
      : `${path} cannot be written: ${readErrorMessage(error)}`
    return { json: { ok: false, path, message: text }, text, exit: EXIT_CODES.usage }
  }
  return { json: { ok: true, path }, text: `Wrote ${path}. Edit it, then: hearthbus doctor, hearthbus up.` }
}
