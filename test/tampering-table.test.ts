/**
 * Tampering table: what can be done to each kind of stored file without the key, against what `ledger verify` says of
 * it in a data directory, in a write-protected copy of that and in an export alone, and `examples/auditor.py` of the
 * export. Whatever an export has gives the same findings in all of them.
 */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeDatabaseMigrations } from '../src/main/node-database-migrations.ts'
import { readVerifierKey } from '../src/cli/read-only-ledger-store.ts'
import { buildDataDirectoryPaths } from '../src/config/data-directory.ts'
import { configSchema } from '../src/config/schema.ts'
import { systemClock } from '../src/core/clock.ts'
import { Database } from '../src/core/database-store.ts'
import { silentLogger } from '../src/core/logger.ts'
import { BODY_SALT_BYTES, locateBodyRecords } from '../src/ledger/entry-group.ts'
import { loadExistingNodeKey } from '../src/ledger/key-store.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import type { LedgerFinding } from '../src/ledger/ledger-finding.ts'
import { createLogSigner, formatVerifierKey } from '../src/ledger/note-key.ts'
import { decodeEntryBundle, encodeEntryBundle, expandTile, readTileNode, TILE_WIDTH } from '../src/ledger/tile.ts'
import { computeLeafHash } from '../src/ledger/tree.ts'
import { startGateway } from '../src/main.ts'
import { ledgerEntryCaches, ledgerProjections } from '../src/main/ledger-projections.ts'
import { chooseLogOrigin } from '../src/main/log-origin-store.ts'
import { VERIFYING_PROCESS } from './verifying-process.ts'
import type { VerifyReply, VerifyRequest } from './verifying-process.ts'

const AUDITOR = fileURLToPath(new URL('../examples/auditor.py', import.meta.url))
const hasPython = spawnSync('python3', ['--version']).status === 0
const config = configSchema.parse({ listen: { port: 0 } })
const OWNER = { caller: { kind: 'principal', id: 'owner', role: 'admin' }, channel: 'api' } as const
/** Root may read and write whatever the modes say. */
const isRoot = process.getuid?.() === 0
const NOBODY = 65_534
const AS_NOBODY = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []
/** A start, a verification and what this test itself holds. */
const MAX_MEGABYTES = 700
const SPARSE_BYTES = 64 * 2 ** 30

const root = mkdtempSync(join(tmpdir(), 'hearthbus-table-'))
const [base, old, live, exported, pristine] = ['base', 'old', 'live', 'export', 'pristine'].map((name) =>
  join(root, name),
) as [string, string, string, string, string]
let vkey = ''

let verifier: Child | undefined
let auditor: Child | undefined

beforeAll(async () => {
  await work(60)
  cpSync(base, old, { recursive: true })
  await fillOffline(500)
  await work(130)
  await offline({}, (ledger) => ledger.exportTo(pristine, { withBodies: true }))
  cpSync(base, live, { recursive: true })
  cpSync(pristine, exported, { recursive: true })
  chmodSync(root, 0o755)
  for (const folder of [live, exported]) giveAway(folder)
  const key = await readVerifierKey(base, config)
  if (!key.ok) throw new Error(key.fault)
  vkey = formatVerifierKey(key.value)
})
afterAll(() => {
  verifier?.process.kill()
  auditor?.process.kill()
  spawnSync('chmod', ['-R', 'u+rwX', root])
  rmSync(root, { recursive: true, force: true })
})

/** Three entries each. */
async function work(tasks: number): Promise<void> {
  const gateway = await startGateway({ config, dataRoot: base, version: '0', logger: silentLogger, listen: true })
  if (!gateway.ok) throw new Error(gateway.fault.message)
  const titles = Array.from({ length: tasks }, (_, index) => `task ${index}`)
  await Promise.all(titles.map((title) => gateway.value.bus.call('task_create', undefined, { title }, OWNER)))
  await gateway.value.stop()
}

/** Short segments: the tail lets go of the first bundles. */
async function fillOffline(size: number): Promise<void> {
  await offline({ segmentEntries: 100 }, async (ledger, database) => {
    while (ledger.size() < size) {
      await database.commit(() => {
        for (let count = 0; count < 20; count++) ledger.appendIn({ kind: 'note' }, { text: `note ${ledger.size()}` })
      })
    }
    await ledger.eraseBody(ledger.size() - 1)
    await ledger.checkpoint()
  })
}

async function offline(
  more: { readonly segmentEntries?: number },
  act: (ledger: Ledger, database: Database) => Promise<unknown>,
): Promise<void> {
  const data = buildDataDirectoryPaths(base)
  const key = await loadExistingNodeKey(data.nodeKey)
  if (!key.ok) throw new Error(key.fault.kind)
  const database = new Database({ path: data.database, migrations: nodeDatabaseMigrations })
  const origin = await chooseLogOrigin(config, data, () => undefined)
  const ledger = await Ledger.open({
    database,
    signer: createLogSigner(origin, key.value.privateKey),
    origin,
    lastSignedPath: data.lastSigned,
    clock: systemClock,
    caches: ledgerEntryCaches,
    projections: ledgerProjections,
    ...more,
  })
  await act(ledger, database)
  database.close()
}

function giveAway(path: string): void {
  if (!isRoot) return
  const stats = lstatSync(path)
  if (stats.isSymbolicLink()) return
  chownSync(path, NOBODY, NOBODY)
  if (stats.isDirectory()) for (const name of readdirSync(path)) giveAway(join(path, name))
}

interface Child {
  readonly process: ChildProcessWithoutNullStreams
  readonly answers: AsyncIterator<string>
}

function startChild(command: readonly string[]): Child {
  const [program = '', ...rest] = command
  const started = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] }) as unknown as Child['process']
  return { process: started, answers: createInterface({ input: started.stdout })[Symbol.asyncIterator]() }
}

/** A process that says nothing for so long waits for something that never comes. */
const HANGS_MS = 100_000

/** The next line; `undefined` when the process hangs or has ended. */
async function answerTo(asked: Child, line: string): Promise<string | undefined> {
  asked.process.stdin.write(`${line}\n`)
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), HANGS_MS)
  const answer = await Promise.race([asked.answers.next(), late.promise])
  clearTimeout(timer)
  if (answer?.value === undefined) asked.process.kill('SIGKILL')
  return answer?.value
}

async function ask(request: Omit<VerifyRequest, 'vkey'>): Promise<VerifyReply> {
  verifier ??= startChild([...AS_NOBODY, process.execPath, VERIFYING_PROCESS])
  const answer = await answerTo(verifier, JSON.stringify({ ...request, vkey }))
  if (answer !== undefined) return JSON.parse(answer) as VerifyReply
  verifier = undefined
  return { stack: 'it hung, or ended' }
}

/** The script's own `main`, without starting Python each time. */
const AUDITS = `
import contextlib, io, sys
sys.path.insert(0, sys.argv[1])
import auditor
for line in sys.stdin:
    sys.argv = ["auditor.py", *line.split()]
    auditor.findings.clear()
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            code = auditor.main()
        except BaseException as error:
            code = repr(error)
    print(code, flush=True)
`

/** The code with which the auditor ends. */
async function audit(folder: string): Promise<string | undefined> {
  auditor ??= startChild(['python3', '-B', '-c', AUDITS, dirname(AUDITOR)])
  const code = await answerTo(auditor, `${folder} --vkey ${vkey}`)
  if (code === undefined) auditor = undefined
  return code
}

/** What a person reads; never a stack. */
function said({ sentences, refused, stack, more = 0 }: VerifyReply): readonly string[] {
  if (stack !== undefined) return [`STACK ${stack}`]
  return refused === undefined ? [...(sentences ?? []), ...(more > 0 ? [`and ${more} more`] : [])] : [refused]
}

/** What stands in an export, too: the rest of a report is about the tail, the tables and the keys. */
function isAboutExport(finding: LedgerFinding): boolean {
  if ('path' in finding && !finding.path.startsWith('bodies/') && !existsSync(join(pristine, finding.path)))
    return false
  if (/^(?:tail-|tables-|lookup-|copy-|schema-|last-signed|file-exposed|unreadable)/.test(finding.kind)) return false
  if (!('where' in finding)) return true
  return finding.where === 'export' && !('reason' in finding && finding.reason.includes('the database has'))
}

interface Row {
  readonly live: VerifyReply
  readonly copy: VerifyReply
  readonly export: VerifyReply | undefined
  readonly auditor: string | undefined
}

/** Does it to the data directory and, where the file is there, to the export; looks at all of them; and undoes it. */
async function rowOf(
  files: readonly string[],
  change: (folder: string, files: readonly string[]) => void,
): Promise<Row> {
  const inExport = files.map((file) => file.replace(/^ledger\//, ''))
  const isExported = inExport.every((file, at) => file !== files[at] && existsSync(join(pristine, file)))
  change(live, files)
  const asked = await ask({ way: 'data', path: live })
  protect(live, 'a-w')
  const copied = await ask({ way: 'data', path: live })
  protect(live, 'u+w')
  for (const file of files) putBack(base, live, file)
  if (!isExported) return { live: asked, copy: copied, export: undefined, auditor: undefined }
  change(exported, inExport)
  const alone = await ask({ way: 'export', path: exported })
  const auditor = hasPython && !files.every((file) => AUDITED_ONCE.test(file)) ? await audit(exported) : undefined
  for (const file of inExport) putBack(pristine, exported, file)
  return { live: asked, copy: copied, export: alone, auditor }
}

/** As `chmod -R a-w` and `chmod -R u+w` do. */
function protect(path: string, mode: 'a-w' | 'u+w'): void {
  const stats = lstatSync(path)
  if (stats.isSymbolicLink()) return
  if (stats.isDirectory()) for (const name of readdirSync(path)) protect(join(path, name), mode)
  chmodSync(path, mode === 'a-w' ? stats.mode & 0o7_555 : stats.mode | 0o200)
}

function putBack(from: string, to: string, file: string): void {
  const path = join(to, file)
  rmSync(path, { recursive: true, force: true })
  rmSync(`${path}.copy`, { recursive: true, force: true })
  copyFileSync(join(from, file), path)
  chmodSync(path, statSync(join(from, file)).mode)
  if (isRoot) chownSync(path, NOBODY, NOBODY)
}

function flip(path: string, share: number): void {
  const bytes = readFileSync(path)
  const at = Math.min(bytes.length - 1, Math.floor(bytes.length * share))
  bytes.writeUInt8((bytes.at(at) ?? 0) ^ 1, at)
  writeFileSync(path, bytes)
}

function replace(path: string, make: () => void): void {
  rmSync(path)
  make()
}

const CLOSED = 'closed to everybody'
const WAYS: Readonly<Record<string, (path: string) => void>> = {
  'its first bit': (path) => flip(path, 0),
  'a bit in the first quarter': (path) => flip(path, 0.2),
  'a bit in the middle': (path) => flip(path, 0.5),
  'a bit in the last quarter': (path) => flip(path, 0.8),
  'its last byte': (path) => flip(path, 1),
  'a byte less': (path) => truncateSync(path, statSync(path).size - 1),
  'half of it': (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  'nothing of it': (path) => truncateSync(path),
  'a byte more': (path) => appendFileSync(path, Buffer.alloc(1, 1)),
  'itself twice': (path) => appendFileSync(path, readFileSync(path)),
  deleted: (path) => rmSync(path),
  'a folder': (path) => replace(path, () => mkdirSync(path, { mode: 0o700 })),
  'a pipe': (path) => replace(path, () => void spawnSync('mkfifo', ['-m', '600', path])),
  'a link to nothing': (path) => replace(path, () => symlinkSync('/nonexistent', path)),
  'a link to itself': (path) => replace(path, () => symlinkSync(path, path)),
  'a link to a device without end': (path) => replace(path, () => symlinkSync('/dev/zero', path)),
  'a sparse file': (path) =>
    replace(path, () => {
      writeFileSync(path, '', { mode: 0o600 })
      truncateSync(path, SPARSE_BYTES)
    }),
  'sparse behind its end': (path) => truncateSync(path, SPARSE_BYTES),
  [CLOSED]: (path) => chmodSync(path, 0),
}
/** Nothing is wrong with the content. */
const HARMLESS_WAYS: Readonly<Record<string, (path: string) => void>> = {
  'twice, under another name': (path) => copyFileSync(path, `${path}.copy`),
  'a link to a copy': (path) => {
    copyFileSync(path, `${path}.copy`)
    if (isRoot) chownSync(`${path}.copy`, NOBODY, NOBODY)
    replace(path, () => symlinkSync(`${path}.copy`, path))
  },
  'writable for everybody': (path) => chmodSync(path, statSync(path).mode | 0o066),
}
/** Of each kind of file one that the tail no longer repeats, and one that it does. */
const LOG_FILES = [
  'ledger/checkpoint',
  'ledger/tile/entries/000',
  'ledger/tile/entries/002',
  'ledger/tile/entries/003.p',
  'ledger/tile/0/000',
  'ledger/tile/0/002',
  'ledger/tile/0/003.p',
  'ledger/tile/1/000.p',
  'ledger/bodies/000',
  'ledger/bodies/002',
]
const OTHER_FILES = [
  'checkpoint.signed',
  'ledger/tail',
  'keys/node.key',
  'keys/owner.token',
  'hearthbus.db',
  'ledger/lookup.db',
  'ledger/nodes',
  'ledger/bundle-macs',
]

/** The widest partial tile, or the only segment of the tail. */
function fileIn(name: string): string {
  const path = join(base, name)
  if (!statSync(path).isDirectory()) return name
  const names = readdirSync(path).toSorted((one, other) => Number(other) - Number(one))
  return join(name, names[0] ?? '')
}

const ALL_WAYS = Object.keys(WAYS)
/** The same as in the export's case with another file of the kind. */
const AUDITED_ONCE = /\/002$/
/** What `verify` does not mention, and why that decides nothing. */
const UNSEEN: Readonly<Record<string, readonly string[]>> = {
  // Made anew from the log, or checked before anything made of it is given out.
  'ledger/lookup.db': ALL_WAYS,
  'ledger/nodes': ALL_WAYS,
  'ledger/bundle-macs': ALL_WAYS,
  // Behind the last group: what a crash leaves of one, of which nobody has heard. A start cuts it off.
  'ledger/tail': ['a byte more'],
  // The same key.
  'keys/node.key': ['its last byte', 'a byte less', 'a byte more', 'itself twice'],
  // One that is gone is made anew by the next start.
  'keys/owner.token': ['its last byte', 'a byte less', 'deleted', 'a link to nothing'],
  // What a bit means depends on the page: rows that decide are compared (tampered-files.test.ts), the layout is not.
  'hearthbus.db': [...ALL_WAYS.slice(0, 6), 'a byte more', 'itself twice', 'sparse behind its end'],
}

/** Hundreds of verifications each, on a machine that may be busy. */
describe('verification of a log, its copy and its export', { timeout: 300_000 }, () => {
  it('finds nothing when they are unchanged', async () => {
    const row = await rowOf(['ledger/checkpoint'], () => undefined)
    expect([said(row.live), said(row.copy), row.export && said(row.export)]).toEqual([[], [], []])
    expect([row.live.unchecked, row.copy.unchecked]).toEqual([[], []])
    expect(row.export?.unchecked).toEqual(['tail', 'last-signed', 'tables', 'lookups', 'keys'])
    expect(hasPython ? row.auditor : '0').toBe('0')
    expect(readdirSync(join(base, 'ledger/tail')).map(Number)).toEqual([
      expect.toSatisfy((first) => first > 256 && first <= 512),
    ])
  })

  it.each(LOG_FILES)('finds every kind of change to %s, with the same findings in each', async (name) => {
    const file = fileIn(name)
    for (const [way, change] of Object.entries(WAYS)) {
      const row = await rowOf([file], (folder, [path = '']) => change(join(folder, path)))
      const about = [file, way]
      expect([...about, said(row.copy)]).toEqual([...about, said(row.live)])
      const findings = row.live.findings?.filter(isAboutExport)
      expect([...about, row.export?.findings]).toEqual([...about, findings])
      expect([...about, findings?.length === 0 ? 'unseen' : 'found']).toEqual([...about, 'found'])
      // It runs as whoever runs the tests, who may be root.
      const refuses = row.auditor === undefined || (isRoot && way === CLOSED) ? row.auditor : '5'
      expect([...about, row.auditor]).toEqual([...about, refuses])
    }
  })

  it.each(OTHER_FILES)('finds changes to %s, unless nothing is read from it', async (name) => {
    const file = fileIn(name)
    const unseen: string[] = []
    for (const [way, change] of Object.entries(WAYS)) {
      const { live: report, copy } = await rowOf([file], (folder, [path = '']) => change(join(folder, path)))
      expect([file, way, said(copy)]).toEqual([file, way, said(report)])
      expect([file, way, report.stack]).toEqual([file, way, undefined])
      if (said(report).length === 0) unseen.push(way)
    }
    expect(unseen.filter((way) => UNSEEN[name]?.includes(way) !== true)).toEqual([])
  })

  it('finds nothing when only name, link or mode of a file changed', async () => {
    for (const [way, change] of Object.entries(HARMLESS_WAYS)) {
      const row = await rowOf(LOG_FILES.map(fileIn), (folder, paths) => {
        for (const path of paths) change(join(folder, path))
      })
      expect([way, said(row.live), said(row.copy), row.export?.sentences]).toEqual([way, [], [], []])
    }
  })

  it('finds an older version of a file, and two swapped files', async () => {
    for (const file of ['ledger/checkpoint', 'checkpoint.signed', 'hearthbus.db']) {
      const { live: report, copy } = await rowOf([file], (folder) => {
        if (folder === live) copyFileSync(join(old, file), join(live, file))
        else if (file === 'ledger/checkpoint') copyFileSync(join(old, file), join(exported, 'checkpoint'))
      })
      expect([file, said(copy)]).toEqual([file, said(report)])
      expect([file, said(report)]).not.toEqual([file, []])
    }
    for (const [one, other] of [
      ['ledger/tile/entries/000', 'ledger/tile/entries/001'],
      ['ledger/tile/entries/001', 'ledger/tile/entries/002'],
      ['ledger/tile/0/000', 'ledger/tile/0/002'],
      ['ledger/bodies/000', 'ledger/bodies/002'],
    ] as const) {
      const verdict = await verdictOn([one, other], (folder, [first = '', second = '']) => {
        const [former, latter] = [readFileSync(join(folder, first)), readFileSync(join(folder, second))]
        writeFileSync(join(folder, first), latter)
        writeFileSync(join(folder, second), former)
      })
      expect(verdict).toBe('found')
    }
  })

  it('finds bodies that were swapped within a file', async () => {
    for (const file of ['ledger/bodies/000', 'ledger/bodies/002']) {
      const verdict = await verdictOn([file], (folder, [name = '']) => {
        const bytes = readFileSync(join(folder, name))
        const records = locateBodyRecords(bytes, 0, bytes.length) ?? []
        const [one, other] = records.flatMap((record, at) => {
          const same = records.slice(at + 1).find(({ length }) => length === record.length)
          return same === undefined ? [] : [[record, same] as const]
        })[0] ?? [undefined, undefined]
        if (one === undefined || other === undefined) throw new Error('no bodies of one length')
        const size = BODY_SALT_BYTES + one.length
        const first = Buffer.from(bytes.subarray(one.offset, one.offset + size))
        bytes.copyWithin(one.offset, other.offset, other.offset + size)
        first.copy(bytes, other.offset)
        writeFileSync(join(folder, name), bytes)
      })
      expect(verdict).toBe('found')
    }
  })

  it('finds consistent edits of a bundle, its tile, the tile above and the checkpoint', async () => {
    for (const index of [0, 2]) {
      const files = ['entries', '0'].map((level) => `ledger/tile/${level}/00${index}`)
      const above = fileIn('ledger/tile/1/000.p')
      const forge = (folder: string, paths: readonly string[]): void => {
        const [bundle = '', tile = '', parent, checkpoint] = paths.map((path) => join(folder, path))
        const entries = decodeEntryBundle(readFileSync(bundle), TILE_WIDTH)
        if (!entries.ok) throw new Error('no bundle')
        const first = Buffer.from(entries.value[0] ?? '')
        const forged = Buffer.from(first.toString().replace(/"at":"20/, '"at":"19'))
        writeFileSync(bundle, encodeEntryBundle([forged, ...entries.value.slice(1)]))
        const hashes = readFileSync(tile)
        hashes.set(computeLeafHash(forged), 0)
        writeFileSync(tile, hashes)
        if (parent === undefined) return
        const roots = readFileSync(parent)
        roots.set(readTileNode(expandTile(hashes), 8, 0), index * 32)
        writeFileSync(parent, roots)
        if (checkpoint === undefined) return
        // The signature is of another root then.
        const lines = readFileSync(checkpoint, 'utf8').split('\n')
        writeFileSync(checkpoint, lines.with(2, computeLeafHash(forged).toString()).join('\n'))
      }
      for (const more of [[], [above], [above, 'ledger/checkpoint']])
        expect(await verdictOn([...files, ...more], forge)).toBe('found')
    }
  })

  it('needs no more memory than for a sound log, whatever the change', async () => {
    expect((await ask({ way: 'data', path: live })).megabytes).toBeLessThan(MAX_MEGABYTES)
  })

  it('is followed by a start that succeeds or ends with a message, never with a stack trace or a hang', async () => {
    const started = join(root, 'started')
    const odd = ['a folder', 'a pipe', 'a link to itself', 'a link to a device without end', 'a sparse file']
    for (const name of [...LOG_FILES.filter((each) => !AUDITED_ONCE.test(each)), ...OTHER_FILES])
      for (const way of odd) {
        const file = fileIn(name)
        rmSync(started, { recursive: true, force: true })
        cpSync(base, started, { recursive: true })
        WAYS[way]?.(join(started, file))
        giveAway(started)
        const { stack } = await ask({ way: 'start', path: started })
        expect([file, way, stack]).toEqual([file, way, undefined])
      }
  })

  // Only root can mount.
  it.runIf(isRoot)('finds the same on a read-only mount', async () => {
    const mounted = join(root, 'mounted')
    mkdirSync(mounted)
    if (spawnSync('mount', ['--bind', live, mounted]).status !== 0) return
    try {
      spawnSync('mount', ['-o', 'remount,ro,bind', mounted])
      expect(await ask({ way: 'data', path: mounted })).toMatchObject({ findings: [], unchecked: [] })
      flip(join(live, 'ledger/tile/entries/000'), 0.5)
      const [here, there] = [await ask({ way: 'data', path: live }), await ask({ way: 'data', path: mounted })]
      expect(there.findings).toEqual(here.findings)
      expect(there.findings).not.toEqual([])
    } finally {
      spawnSync('umount', [mounted])
      putBack(base, live, 'ledger/tile/entries/000')
    }
  })
})

/** Whether all find it, with the same words. */
async function verdictOn(
  files: readonly string[],
  change: (folder: string, files: readonly string[]) => void,
): Promise<string> {
  const row = await rowOf(files, change)
  const findings = JSON.stringify(row.live.findings?.filter(isAboutExport))
  const isSame = JSON.stringify(row.export?.findings) === findings && String(said(row.copy)) === String(said(row.live))
  if (!isSame) return `${files.join(' ')}: ${JSON.stringify(row)}`
  return findings === '[]' || (row.auditor ?? '5') !== '5' ? `${files.join(' ')}: unseen` : 'found'
}
