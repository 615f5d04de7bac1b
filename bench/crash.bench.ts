/**
 * Power cuts for as long as one likes: `node bench/crash.bench.ts 1000` cuts a thousand times, and for half an hour
 * at most, or for as many milliseconds as the second number says.
 *
 * Does I/O.
 */
import { cutPower } from '../test/power-cuts.ts'

const kills = Number(process.argv[2] ?? 200)
const { acknowledged, aborted, findings, ...rest } = await cutPower({
  kills,
  callers: 32,
  longestLoadMs: 1_500,
  budgetMs: Number(process.argv[3] ?? 1_800_000),
})
process.stdout.write(
  `  ${rest.kills} power cuts under 32 callers: ${acknowledged} calls acknowledged, ${aborted} cut off and closed as aborted\n`,
)
process.stdout.write(
  findings.length === 0
    ? '  nothing acknowledged was lost, and the ledger verified after every one\n'
    : `  ${findings.join('\n  ')}\n`,
)
process.exitCode = findings.length === 0 ? 0 : 1
