/**
 * Power cuts for as long as one likes: `node bench/crash.bench.ts 1000` cuts a thousand times, and for half an hour
 * at most, or for as many milliseconds as the second number says. `ledger` as the third word cuts a process that only
 * writes a ledger, which meets every step of the layout far more often than a whole gateway does.
 */
import { cutPower } from '../test/power-cuts.ts'
import { cutLedger } from './ledger-cuts.ts'
import { buildProcesses } from './built-processes.ts'

await buildProcesses()

const [kills, budgetMs] = [Number(process.argv[2] ?? 200), Number(process.argv[3] ?? 1_800_000)]
const findings = process.argv[4] === 'ledger' ? await cutWriter() : await cutGateway()
process.stdout.write(
  findings.length === 0
    ? '  nothing acknowledged was lost, nothing is there twice, no checkpoint was forked, and all of it verified after every one\n'
    : `  ${findings.join('\n  ')}\n`,
)
process.exitCode = findings.length === 0 ? 0 : 1

async function cutGateway(): Promise<readonly string[]> {
  const cut = await cutPower({ kills, callers: 32, longestLoadMs: 1_500, budgetMs })
  process.stdout.write(
    `  ${cut.kills} power cuts under 32 callers: ${cut.acknowledged} calls acknowledged, ${cut.aborted} cut off and closed as aborted\n`,
  )
  return cut.findings
}

async function cutWriter(): Promise<readonly string[]> {
  const cut = await cutLedger(kills, budgetMs)
  process.stdout.write(
    `  ${cut.cuts} power cuts of a ledger under 32 callers: ${cut.appended} calls acknowledged, ${cut.signed} checkpoints given out\n`,
  )
  return cut.findings
}
