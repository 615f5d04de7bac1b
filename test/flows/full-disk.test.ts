/**
 * A disk that takes nothing any more, as the kernel has it: a limit on how far files may grow, set on the running
 * process and lifted again. Nothing is done that cannot be recorded, whoever asks is told, and nothing is lost.
 */
import { spawnSync } from 'node:child_process'
import { renameSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHome, runCommandSync, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { until } from '../mesh-house.ts'
import { callTool } from '../modern-request.ts'

const canLimit = spawnSync('prlimit', ['--version']).status === 0
if (!canLimit) console.warn('not run: full-disk.test.ts needs prlimit (util-linux) to fill a disk')

let home: Home
let gateway: GatewayProcess
beforeEach(async () => {
  home = createHome()
  gateway = await startGatewayProcess(home)
})
afterEach(async () => {
  await gateway.kill()
  home.remove()
})

function limitFiles(bytes: number | 'unlimited'): void {
  expect(spawnSync('prlimit', [`--pid=${gateway.pid}`, `--fsize=${bytes}:unlimited`]).status).toBe(0)
}

function hearthbus(...words: readonly string[]): readonly unknown[] {
  const { status, stdout } = runCommandSync(home, ...words)
  return [status, stdout]
}

async function ready(): Promise<unknown> {
  return (await fetch(`${gateway.url}/ready`)).json()
}

/** It looks every few seconds; how soon is not what this is about. */
async function untilReady(wanted: boolean): Promise<unknown> {
  let said: unknown
  await until(`it says that it is ${wanted ? '' : 'not '}ready`, async () => {
    const answer = await fetch(`${gateway.url}/ready`)
    said = await answer.json()
    return answer.ok === wanted
  })
  return said
}

describe('a full disk', () => {
  it.runIf(canLimit)('stops changes but not the process, and is reported until there is room again', async () => {
    const { url } = gateway
    expect(await ready()).toEqual({ ready: true, ledger: 'sound', failing: [] })
    expect((await callTool(url, 'task_create', { title: 'before' })).body.result).not.toHaveProperty('isError', true)
    limitFiles(0)
    const refused = await callTool(url, 'task_create', { title: 'meanwhile' })
    expect(refused.body.result).toMatchObject({ isError: true })
    expect(JSON.stringify(refused.body)).toContain('is the disk full?')
    expect(await untilReady(false)).toEqual({ ready: false, ledger: 'sound', failing: ['runtime'] })
    expect((await fetch(`${url}/health`)).status).toBe(200)
    // Nor can a checkpoint be stored, which is tried within a second of an entry that decides.
    expect(hearthbus('doctor')).toEqual([
      5,
      expect.stringMatching(/✗ runtime: (?:cannot do its work|\d+ entries are not signed)/),
    ])
    limitFiles('unlimited')
    expect(await untilReady(true)).toMatchObject({ ready: true })
    expect((await callTool(url, 'task_create', { title: 'after' })).body.result).not.toHaveProperty('isError', true)
    const listed = JSON.stringify((await callTool(url, 'task_list', {})).body)
    expect(['before', 'meanwhile', 'after'].map((title) => listed.includes(`"${title}`))).toEqual([true, false, true])
    expect(await gateway.stop()).toBe(0)
    expect(hearthbus('ledger', 'verify')).toEqual([0, expect.stringContaining('all in order')])
  })

  it.runIf(canLimit)('is reported when the stop could not be recorded', async () => {
    limitFiles(0)
    expect(await gateway.stop()).toBe(5)
    expect(gateway.log()).toContain('a part of the gateway did not stop properly')
  })
})

describe('a data directory that was removed', () => {
  it('stops changes, and is reported by the exit code', async () => {
    rmSync(home.data, { recursive: true })
    expect(await untilReady(false)).toMatchObject({ failing: ['runtime'] })
    // It looks once a second.
    await expect
      .poll(async () => (await callTool(gateway.url, 'task_create', { title: 'lost' })).body.result)
      .toMatchObject({ isError: true })
    expect(await gateway.stop()).toBe(5)
  })

  it('is detected although the database is still open', async () => {
    renameSync(home.data, `${home.data}-away`)
    expect(await untilReady(false)).toMatchObject({ failing: ['runtime'] })
    renameSync(`${home.data}-away`, home.data)
    expect(await untilReady(true)).toMatchObject({ ready: true })
  })
})
