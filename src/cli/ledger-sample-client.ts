/**
 * Ledger sample: the command that checks some randomly drawn entries. A running gateway checks and records them; if
 * none runs, the command checks them itself and only prints the result.
 */
import type { Command } from 'commander'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { createRandomDrawKey, RANDOM_DRAW_KEY_PURPOSE } from '../ledger/random-draw.ts'
import { deriveNodeSecret, formatKeyFault, loadExistingNodeKey } from '../ledger/key-store.ts'
import { verifyLedgerSample } from '../ledger/ledger-sample.ts'
import { deriveNodeIdentity } from '../mesh/identity/node-key.ts'
import {
  printAnswer,
  readCommandConfig,
  readDataRoot,
  readGlobalOptions,
  readToolDataAsOwner,
} from './command-client.ts'
import { findRunningGateway } from './gateway-client.ts'
import { withOfflineLedger } from './offline-ledger-store.ts'
import { EXIT_CODES, createFailureAnswer, sanitizeForTerminal } from './command-output.ts'

export async function runLedgerSampleCommand(command: Command): Promise<void> {
  const data = findRunningGateway(readGlobalOptions(command)).ok
    ? await readToolDataAsOwner(command, 'ledger_verify', { sample: true })
    : await sampleHere(command)
  if (data === undefined) return
  const { size, findings, draw } = data
  const sentences = Array.isArray(findings) ? findings.map(String) : []
  const entries = isJsonObject(draw) && Array.isArray(draw['entries']) ? draw['entries'] : []
  const isSound = sentences.length === 0
  const summary = `${entries.length} of ${Number(size)} entries, drawn by nobody: ${entries.join(', ')}`
  const check = ['Check the draw with vrf_verify, or an export with examples/auditor.py --draws:', ...drawLines(draw)]
  const lines = isSound
    ? [`${summary}. All as they were signed.`, ...check]
    : [...sentences, `${summary}. Not sound.`, ...check]
  printAnswer(command, {
    json: { ok: isSound, size: size ?? 0, findings: sentences, draw: draw ?? null },
    text: sanitizeForTerminal(lines.join('\n')),
    exit: isSound ? EXIT_CODES.ok : EXIT_CODES.integrity,
  })
}

function drawLines(draw: Json | undefined): readonly string[] {
  const facts = isJsonObject(draw) ? Object.entries(draw) : []
  return facts.flatMap(([name, value]) => (typeof value === 'string' ? [`  ${name} ${value}`] : []))
}

async function sampleHere(command: Command): Promise<JsonObject | undefined> {
  const config = readCommandConfig(command)
  if (config === undefined) return undefined
  const dataRoot = readDataRoot(command)
  const failed = (text: string): undefined => {
    printAnswer(command, createFailureAnswer(text, EXIT_CODES.integrity))
  }
  const key = await loadExistingNodeKey(buildDataDirectoryPaths(dataRoot).nodeKey)
  if (!key.ok) return failed(formatKeyFault(key.fault))
  const { id } = deriveNodeIdentity(key.value.privateKey)
  const draws = createRandomDrawKey(id, deriveNodeSecret(key.value, RANDOM_DRAW_KEY_PURPOSE))
  const done = await withOfflineLedger({ dataRoot, config, state: 'sound', rooms: 'all' }, (ledger) =>
    verifyLedgerSample(ledger, draws),
  )
  if (!done.ok) return failed(done.fault)
  if (done.value === undefined) return failed('Nothing is signed yet.')
  const { size, findings, alpha, publicKey, proof, output, entries } = done.value
  const draw = { alpha_hex: alpha, public_key_hex: publicKey, proof_hex: proof, output_hex: output }
  return { size, findings: [...findings], draw: { ...draw, entries: [...entries] } }
}
