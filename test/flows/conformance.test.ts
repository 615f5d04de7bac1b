/**
 * The official MCP conformance suite against our own server. It runs as its own process and talks to us over HTTP.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conformanceHouse } from '../conformance/conformance-house.ts'
import type { ConformanceHouse } from '../conformance/conformance-house.ts'

const SUITE = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
)

/** Tasks are an extension that we do not offer. Nothing else may ever stand here. */
const EXPECTED_FAILURES = {
  '2025-11-25': [],
  '2026-07-28': [
    'tasks-capability-negotiation',
    'tasks-dispatch-and-envelope',
    'tasks-lifecycle',
    'tasks-mrtr-composition',
    'tasks-mrtr-input',
    'tasks-request-headers',
    'tasks-request-state-removal',
    'tasks-required-task-error',
    'tasks-wire-fields',
  ],
}

interface Verdict {
  readonly exitCode: number | null
  readonly passing: readonly string[]
  readonly failing: readonly string[]
}

async function runSuite(url: string, revision: string): Promise<Verdict> {
  // It leaves its findings in the directory that it runs in.
  const directory = await mkdtemp(join(tmpdir(), 'conformance-'))
  const suite = spawn(process.execPath, [SUITE, 'server', '--url', url, '--requirements', revision], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let report = ''
  suite.stdout.on('data', (chunk: Buffer) => (report += chunk.toString()))
  suite.stderr.on('data', (chunk: Buffer) => (report += chunk.toString()))
  const exitCode = await new Promise<number | null>((resolve) => suite.once('close', resolve))
  await rm(directory, { recursive: true, force: true })
  const summary = report.slice(report.indexOf('=== SUMMARY ==='))
  const marked = (mark: string): readonly string[] =>
    [...summary.matchAll(new RegExp(`^${mark} ([a-z0-9-]+): `, 'gm'))].map(([, name]) => name ?? '').toSorted()
  const verdict = { exitCode, passing: marked('✓'), failing: marked('✗') }
  // The suite's own words are what one needs when it does not pass.
  if (exitCode !== 0) process.stderr.write(report)
  return verdict
}

describe('the official MCP conformance suite', () => {
  let house: ConformanceHouse
  beforeAll(async () => {
    house = await conformanceHouse()
  })
  afterAll(() => house.close())

  it('passes every scored server scenario of 2026-07-28', async () => {
    const before = house.gateway.ledger.size()
    const { exitCode, passing, failing } = await runSuite(house.url, '2026-07-28')
    // Two entries for each call: nothing that the suite did went past the chain.
    expect(house.gateway.ledger.size() - before).toBeGreaterThan(80)
    expect(failing).toEqual(EXPECTED_FAILURES['2026-07-28'])
    // 37 are scored; four more are not and pass all the same.
    expect([exitCode, passing.length]).toEqual([0, 41])
  })

  it('passes every scored server scenario of 2025-11-25', async () => {
    const { exitCode, passing, failing } = await runSuite(house.url, '2025-11-25')
    expect(failing).toEqual(EXPECTED_FAILURES['2025-11-25'])
    expect([exitCode, passing.length]).toEqual([0, 33])
  })
})
