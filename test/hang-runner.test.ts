/** Tests that hang on purpose (test/hangs), in a Vitest of their own with a limit of three seconds. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'

interface Outcome {
  readonly title: string
  readonly status: string
  readonly failureMessages: readonly string[]
}

const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const SECONDS = String.raw`[3-9] s`

describe.runIf(process.platform === 'linux')('the hang runner', () => {
  let outcomes: ReadonlyMap<string, Outcome>
  let said: string
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearthbus-hangs-'))
    const report = join(folder, 'report.json')
    const words = ['run', '--config', 'test/hangs/vitest.config.ts', '--reporter=json', `--outputFile=${report}`]
    // A worker of Vitest must not look like one to the Vitest that it starts.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
    const child = spawn(process.execPath, [VITEST, ...words], { stdio: ['ignore', 'ignore', 'pipe'], env })
    const ended = once(child, 'close')
    said = await text(child.stderr)
    await ended
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
      testResults: { assertionResults: Outcome[] }[]
    }
    rmSync(folder, { recursive: true })
    outcomes = new Map(testResults.flatMap(({ assertionResults }) => assertionResults).map((one) => [one.title, one]))
  })

  function failureOf(title: string): string {
    return outcomes.get(title)?.failureMessages.join('\n') ?? 'no such test'
  }

  it('fails a test with a promise that never resolves, and continues with the next test', () => {
    const name = 'waits for a promise that nobody resolves'
    const sentence = `hangs: for ${SECONDS} neither it nor a process that it started did anything`
    expect(failureOf(name)).toMatch(new RegExp(sentence))
    expect(said).toMatch(new RegExp(`\\*\\*\\* .*${name} ${sentence}`))
    expect(outcomes.get('runs after one that hangs')?.status).toBe('passed')
  })

  it('fails a hook that hangs, and names it', () => {
    expect(said).toMatch(/\*\*\* beforeAll of .*a suite hangs: for/)
    expect(outcomes.get('never begins')?.status).toBe('skipped')
  })

  it('names the unanswered request, the process and its last output', () => {
    const failure = failureOf('asks a gateway that never answers')
    expect(failure).toMatch(/hangs: for/)
    expect(failure).toMatch(/process \d+: \S*node -e/)
    expect(failure).toMatch(/no end yet of POST http:\/\/127\.0\.0\.1:\d+\/mcp, after \d+ s/)
    expect(failure).toContain('the silent gateway said last:\nasked for /mcp')
  })

  it('kills a command that blocks the test in spawnSync, and fails the test', () => {
    expect(failureOf('waits with spawnSync for a command that ignores SIGTERM')).toMatch(/hangs: for/)
    expect(said).toMatch(
      /\*\*\* killed \d+, because .*waits with spawnSync .* waited for it in vain: \S*node -e .*deaf/,
    )
  })

  it('leaves a failing poll to its own timeout message', () => {
    const failure = failureOf('polls in vain, and says itself what for')
    expect(failure).toContain("expected 'closed' to be 'open'")
    expect(failure).not.toContain('hangs: for')
  })

  it('does not fail a test that takes small steps with waits between them', () => {
    expect(failureOf('takes small steps with waits between them')).toBe('')
  })

  it('does not fail a test that is slow for more than twice the limit', () => {
    expect(failureOf('waits for a slow command for as long as it works')).toBe('')
  })
})
