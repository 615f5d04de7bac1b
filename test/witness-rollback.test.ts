/**
 * What a person tries who may write into the directory of a witness that runs alone, and cannot read its key: to make it
 * forget what it cosigned, and have it cosign a fork.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { toUtf8 } from '../src/core/bytes.ts'
import { formatCheckpoint } from '../src/ledger/checkpoint.ts'
import { createLogSigner, formatVerifierKey } from '../src/ledger/note-key.ts'
import { signNote } from '../src/ledger/signed-note.ts'
import { computeLeafHash } from '../src/ledger/tree.ts'
import { formatAddCheckpointRequest } from '../src/ledger/witness.ts'
import { SOURCE_CLI } from './gateway-process.ts'

const ORIGIN = 'hearthbus.local/attic'
const log = createLogSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey)
let root: string
let directory: string
const running = new Set<ChildProcess>()

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-witness-'))
  directory = join(root, 'data', 'witness')
  writeFileSync(join(root, 'hearthbus.yaml'), `ledger: { pins: ${join(root, 'pins')} }\n`)
  return async () => {
    for (const child of running) await kill(child)
    rmSync(root, { recursive: true, force: true })
  }
})

interface WitnessProcess {
  readonly url: string
  readonly child: ChildProcess
  readonly stderr: () => string
}

interface Refusal {
  readonly code: number | null
  readonly stderr: string
}

/** The witness that listens, or how it ended instead. */
async function start(...flags: readonly string[]): Promise<WitnessProcess | Refusal> {
  const place = ['--data', join(root, 'data'), '--config', join(root, 'hearthbus.yaml')]
  const line = [SOURCE_CLI, 'witness', ...place, '--port', '0', '--log', formatVerifierKey(log.key), ...flags]
  const child = spawn(process.execPath, line, { stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let [stdout, stderr] = ['', '']
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  return new Promise((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
      const [, url] = /listens at (http:\S+) for/.exec(stdout) ?? []
      if (url !== undefined) resolve({ url, child, stderr: () => stderr })
    })
    child.once('close', (code: number | null) => {
      running.delete(child)
      resolve({ code, stderr })
    })
  })
}

async function startWitness(...flags: readonly string[]): Promise<WitnessProcess> {
  const started = await start(...flags)
  if ('code' in started) throw new Error(started.stderr)
  return started
}

async function kill(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return
  child.kill('SIGKILL')
  await once(child, 'close')
}

/** A tree of one entry, after none. */
async function addTree(url: string, entry: string): Promise<string> {
  const checkpoint = { origin: ORIGIN, size: 1, root: computeLeafHash(toUtf8(entry)), extensions: [] }
  const note = signNote(formatCheckpoint(checkpoint), [log])
  const body = formatAddCheckpointRequest({ oldSize: 0, proof: [], signed: { checkpoint, note } })
  const answer = await fetch(`${url}/add-checkpoint`, { method: 'POST', body })
  const text = await answer.text()
  return answer.status === 200 ? 'cosigned' : `${answer.status} ${text.trim()}`
}

/** The directory as it was before anything was cosigned, and the witness killed once it has cosigned a tree. */
async function cosignAndKill(): Promise<string> {
  const first = await startWitness()
  await kill(first.child)
  const older = join(root, 'older')
  cpSync(directory, older, { recursive: true })
  const second = await startWitness()
  expect(await addTree(second.url, 'a')).toBe('cosigned')
  await kill(second.child)
  return older
}

function putBack(older: string): void {
  rmSync(directory, { recursive: true })
  cpSync(older, directory, { recursive: true })
}

describe('a witness whose directory was put back to an older copy', () => {
  it('does not start, and continues with the newest tree on its owner’s word', async () => {
    putBack(await cosignAndKill())
    expect(await start()).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`${directory} holds an older tree of ${ORIGIN} than this witness cosigned`),
    })
    const restored = await startWitness('--restored')
    expect(await addTree(restored.url, 'b')).toBe('409 1')
  })

  it('does not start with its database removed, or with its key removed', async () => {
    const older = await cosignAndKill()
    for (const end of ['', '-wal', '-shm']) rmSync(join(directory, `witness.db${end}`), { force: true })
    expect(await start()).toMatchObject({ code: 5, stderr: expect.stringContaining('older tree') })
    putBack(older)
    rmSync(join(directory, 'witness.key'))
    expect(await start()).toMatchObject({ code: 5, stderr: expect.stringContaining('older tree') })
  })
})

describe('a witness that was killed', () => {
  it('starts with what it has cosigned', async () => {
    await cosignAndKill()
    const again = await startWitness()
    expect(await addTree(again.url, 'b')).toBe('409 1')
    expect(again.stderr()).toBe('')
  })
})

describe('a running witness', () => {
  it('refuses a fork after its row was removed, and says so', async () => {
    const witness = await startWitness()
    expect(await addTree(witness.url, 'a')).toBe('cosigned')
    const file = new DatabaseSync(join(directory, 'witness.db'))
    file.exec('DELETE FROM witness_checkpoint')
    file.close()
    expect(await addTree(witness.url, 'b')).toBe('409 1')
    await expect.poll(witness.stderr).toContain(`holds an older tree of ${ORIGIN}`)
  })

  it('is the only one of its directory, also after its lock file was removed', async () => {
    await startWitness()
    rmSync(join(directory, 'witness.lock'))
    expect(await start()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`A witness runs for ${directory} already`),
    })
  })
})
