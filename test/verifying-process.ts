/**
 * Verifying process: verifies and starts what it is told to, one line each way, as a user for whom modes count. A pipe
 * that it waits for, or memory that it takes, is then not the test's own.
 *
 *   { "way": "data" | "export" | "start", "path": … }  →  { "findings": …, "unchecked": …, "refused": …, "megabytes": … }
 */
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { verifyExport, verifyDataDirectoryLedger } from '../src/cli/ledger-verification-store.ts'
import { explainDataDirectoryTrouble } from '../src/main/data-directory-trouble.ts'
import { configSchema } from '../src/config/schema.ts'
import { silentLogger } from '../src/core/logger.ts'
import { formatLedgerFinding } from '../src/ledger/ledger-finding.ts'
import type { LedgerFinding } from '../src/ledger/ledger-finding.ts'
import type { LogVerificationReport } from '../src/ledger/log-verification.ts'
import { parseVerifierKey } from '../src/ledger/note-key.ts'
import { startGateway } from '../src/main.ts'

export const VERIFYING_PROCESS = fileURLToPath(import.meta.url)

export interface VerifyRequest {
  readonly way: 'data' | 'export' | 'start'
  readonly path: string
  readonly vkey?: string
}

export interface VerifyReply {
  readonly findings?: readonly LedgerFinding[]
  readonly sentences?: readonly string[]
  readonly more?: number
  readonly unchecked?: readonly string[]
  /** A sentence for a person. */
  readonly refused?: string
  /** What a person must never see. */
  readonly stack?: string | undefined
  /** The most memory that this process has had so far. */
  readonly megabytes?: number
}

const config = configSchema.parse({ listen: { port: 0 } })

async function reply({ way, path, vkey = '' }: VerifyRequest): Promise<VerifyReply> {
  try {
    if (way === 'export') {
      const key = parseVerifierKey(vkey)
      if (!key.ok) throw new Error(key.fault.reason)
      return replyOf(await verifyExport(path, key.value, {}))
    }
    if (way === 'data') {
      const report = await verifyDataDirectoryLedger(path, config)
      return report.ok ? replyOf(report.value) : { refused: report.fault }
    }
    const gateway = await startGateway({ config, dataRoot: path, version: '0', logger: silentLogger, listen: false })
    if (!gateway.ok) return { refused: gateway.fault.message }
    await gateway.value.stop()
    return {}
  } catch (error) {
    const refused = explainDataDirectoryTrouble(error, path)
    return refused === undefined ? { stack: error instanceof Error ? error.stack : String(error) } : { refused }
  }
}

function replyOf({ findings, more, unchecked }: LogVerificationReport): VerifyReply {
  return { findings, sentences: findings.map(formatLedgerFinding), more, unchecked }
}

if (process.argv[1] === VERIFYING_PROCESS)
  for await (const line of createInterface({ input: process.stdin })) {
    const answer = await reply(JSON.parse(line) as VerifyRequest)
    const megabytes = Math.round(process.resourceUsage().maxRSS / 1_024)
    process.stdout.write(`${JSON.stringify({ ...answer, megabytes })}\n`)
  }
