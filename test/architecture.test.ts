/**
 * The modules of this code base and which may import which, as data. A broken rule fails with a sentence such as
 * `core/bad.ts → mcp/tool.ts`.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const ALL = '*'

/** Module → modules it may import. A module may always import itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  // What every module needs once: limits on connections and rates, throttling, buffers, paging, times.
  toolbox: ['core'],
  config: ['core'],
  bus: ['core', 'toolbox'],
  ledger: ['core', 'toolbox'],
  guard: ['core', 'toolbox', 'bus', 'ledger'],
  call: ['core', 'toolbox', 'bus', 'guard', 'ledger'],
  runtime: ['core', 'toolbox', 'config', 'bus', 'guard', 'ledger'],
  ebus: ['core', 'toolbox', 'config', 'bus', 'guard', 'ledger'],
  homeseer: ['core', 'toolbox', 'config', 'bus', 'guard', 'ledger'],
  devices: ['core', 'toolbox', 'config', 'bus', 'guard', 'ledger'],
  home: ['core', 'toolbox', 'config', 'bus', 'guard', 'ledger'],
  mesh: ['core', 'toolbox', 'config', 'bus'],
  models: ['core', 'toolbox', 'config', 'bus'],
  mcp: ['core', 'toolbox', 'config', 'bus', 'call', 'guard', 'ledger'],
  web: ['core', 'toolbox', 'config', 'bus', 'call', 'guard', 'ledger'],
  sim: ['core', 'toolbox', 'ebus/wire', 'homeseer/wire', 'devices/wire'],
  'main.ts': [ALL],
  // What main.ts builds with: the modules joined, one file per joint.
  main: [ALL],
  'cli.ts': [ALL],
  // What a program that imports the package gets.
  'hearthbus.ts': [ALL],
  // The commands that cli.ts lists, one file each.
  cli: [ALL],
}

/**
 * Folders inside a module, lowest first: a folder may import those of earlier layers and of its own. Files that lie in
 * the module itself join them, and may import all.
 */
const LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  devices: [['wire'], ['session'], ['voice'], ['enrol'], ['tools']],
  // Bytes, what a definition file says of them, what was heard, who is there, what it means, what can be asked of whom.
  ebus: [
    ['wire'],
    ['adapter'],
    ['recording'],
    ['definitions'],
    ['observe'],
    ['registry'],
    ['semantic'],
    ['methods'],
    ['tools'],
  ],
  homeseer: [['wire'], ['catalog'], ['resolve'], ['tools'], ['admin']],
  mesh: [['identity'], ['discovery', 'packets'], ['http', 'nats']],
  // One folder per subject: the trail of thoughts and its sessions, the seals over these, what the system tells, and the
  // tasks, which show all of it. The other subjects need none.
  runtime: [['consensus'], ['random'], ['reputation'], ['skills'], ['trail'], ['proofs'], ['system'], ['tasks']],
}

/** A package with side effects is imported in as few files as it has roles. */
const PACKAGE_HOMES: Readonly<Record<string, RegExp>> = {
  'node:sqlite': /-store(\.test)?\.ts$/,
  '@modelcontextprotocol/server': /^mcp\//,
  '@modelcontextprotocol/client': /^mcp\//,
  '@modelcontextprotocol/node': /^mcp\//,
  hono: /^web\//,
  '@hono/node-server': /^web\/|^homeseer\/tools\/webhook-listener-server\.ts$/,
  ws: /^devices\/session\/websocket-server\.ts$|^devices\/voice\/backend-websocket-client\.ts$|^mcp\/access-point-client\.ts$|^sim\/devices\//,
  mqtt: /^devices\/session\/mqtt-client\.ts$|^devices\/voice\/backend-mqtt-client\.ts$|^sim\/devices\//,
  serialport: /^ebus\/adapter\/serial-transport\.ts$/,
  '@nats-io/transport-node': /^mesh\/nats\//,
  '@nats-io/kv': /^mesh\/nats\//,
  'bonjour-service': /^toolbox\/bonjour-client\.ts$|^mesh\/discovery\/mdns-client\.ts$/,
  pino: /^core\/logger\.ts$/,
}

const WORLD = /-(transport|client|store|server)\.ts$|^(main|cli)\.ts$/
/** Modules of Node that touch the world. `node:crypto` is arithmetic; `node:http` types are erased. */
const WORLD_MODULES =
  /^node:(fs|fs\/promises|net|dgram|http|https|http2|tls|child_process|worker_threads|readline|sqlite|dns)$/

/**
 * Files that are functions of their arguments but for one thing. Everything else that waits, reads a clock or looks at
 * the process has a name that says so, or is handed what it needs.
 */
const IMPURE: Readonly<Record<string, readonly string[]>> = {
  /** Wait: a rest, a turn of the event loop, a deadline. */
  waits: [
    'bus/timer-wheel.ts',
    'cli/start-commands.ts',
    'devices/devices.ts',
    'devices/enrol/photo-uploads.ts',
    'devices/tools/device-roster.ts',
    'devices/tools/device-waiters.ts',
    'devices/tools/pending-devices-change-notifier.ts',
    'home/later-runner.ts',
    'home/approval-status-tools.ts',
    'ledger/erasure.ts',
    'ledger/ledger-reader.ts',
    'ledger/audit-packet-collection.ts',
    'ledger/log-verification.ts',
    'mcp/list-change-subscription.ts',
    'mesh/event-loop-yield-queue.ts',
    'mesh/packets/packet-caller.ts',
    'mesh/packets/packet-provider.ts',
    'models/models-service.ts',
    'runtime/generator-runner.ts',
    'sim/devices/firmware-voice-task.ts',
    'sim/ebus/heating-system-driver.ts',
    'toolbox/periodic-job.ts',
    'toolbox/throttle.ts',
    'web/event-feed-publisher.ts',
  ],
  /** Read the wall clock, for people who look now or for an id. */
  'reads the clock': [
    'cli/inspection-and-call-commands.ts',
    'cli/changes.ts',
    'cli/guard-commands.ts',
    'core/ids.ts',
    'web/calls-api.ts',
    'web/sessions-api.ts',
    'web/on-demand-ledger-verification.ts',
    'web/measurement-sampling.ts',
  ],
  /** Has a `fetch` of its own, which is handed to it. */
  'names a fetch': ['ebus/semantic/register-reader.ts'],
  /** Commands, and what joins modules from the environment. */
  'looks at the process': [
    'cli/ebus.ts',
    'cli/notify.ts',
    'cli/root-command.ts',
    'cli/setup-commands.ts',
    'cli/process-signal.ts',
    'main/access-points.ts',
    'main/models.ts',
    'mesh/packets/packet-processing-queue.ts',
  ],
}
const IMPURE_GLOBAL =
  /\b(?:setTimeout|setInterval|setImmediate|Date\.now|Math\.random|getBuiltinModule|performance\.now)\s*\(|\b(?:await|return) fetch\(|[=(] ?fetch\(|\bnew Date\(\)|\bprocess\./

/** Files that remember what they computed, bounded or by object; nothing they answer depends on it. */
const MEMOISED: readonly string[] = [
  'bus/bounded-validator.ts',
  'bus/capability-definition.ts',
  'bus/schema-compiler.ts',
  'bus/schema-hash.ts',
  'bus/schema-validation.ts',
  'bus/untrusted-peer-schemas.ts',
  'core/ids.ts',
  'core/json.ts',
  'devices/session/interned-tools.ts',
  'devices/tools/tool-pins.ts',
  'ebus/definitions/field-data-type.ts',
  'ebus/definitions/message-decoder.ts',
  'ebus/definitions/number-scale.ts',
  'ebus/heating-installation.ts',
  'ebus/tools/ebus-view.ts',
  'guard/call-binding.ts',
  'guard/redaction.ts',
  'guard/secret-detection.ts',
  'guard/vote.ts',
  'homeseer/catalog/device-catalog-and-event-consequences.ts',
  'homeseer/resolve/name-concepts.ts',
  'ledger/entry.ts',
  'mcp/listed-tool.ts',
  'mcp/mcp-results.ts',
  'mesh/discovery/announcement.ts',
  'mesh/identity/membership-record.ts',
  'mesh/identity/node-key.ts',
  'mesh/packets/packet-call.ts',
  'mesh/packets/packet-proof.ts',
  'mesh/peer-directory.ts',
]
const MODULE_STATE = /^let \w|^(?:export )?const \w+(?:: [^=\n]*)? = new (?:Map|Set|WeakMap|WeakSet)(?:<[^\n]*>)?\(\)/m

interface Import {
  readonly from: string
  readonly to: string
  /** Erased, or as harmless as if it were. */
  readonly typeOnly: boolean
}

const files = sourceFiles(SRC)
const imports = files.flatMap(importsOf)

describe('architecture', () => {
  it('lets every module import only the modules that the table allows', () => {
    const broken = imports
      .filter(({ from, to }) => to.endsWith('.ts') && !allowed(from, to))
      .map(({ from, to }) => `${from} → ${to}`)
    expect(broken).toEqual([])
  })

  it('lets every package with side effects be imported only in the files listed for it', () => {
    const strays = imports
      .filter(({ from, to }) => !isTest(from) && PACKAGE_HOMES[to]?.test(from) === false)
      .map(({ from, to }) => `${from} → ${to}`)
    expect(strays).toEqual([])
  })

  it('lets modules with I/O be imported only in files whose names say so', () => {
    const strays = imports
      .filter(
        ({ from, to, typeOnly }) => !typeOnly && !isTest(from) && WORLD_MODULES.test(to) && !WORLD.test(lastPart(from)),
      )
      .map(({ from, to }) => `${from} → ${to}`)
    expect(strays).toEqual([])
  })

  it('has no cycle between modules', () => {
    const seenFrom = new Map<string, Set<string>>()
    for (const { from, to } of imports) {
      const [module, other] = [moduleOf(from), moduleOf(to)]
      if (!to.endsWith('.ts') || isTest(from) || module === other) continue
      seenFrom.set(module, (seenFrom.get(module) ?? new Set()).add(other))
    }
    expect([...seenFrom.keys()].filter((module) => reachable(module, seenFrom).has(module))).toEqual([])
  })

  it('lets every folder of a module import only the layers below it', () => {
    const folders = new Set(files.filter((file) => file.split('/').length === 3).map(folderOf))
    const stated = Object.entries(LAYERS).flatMap(([module, layers]) =>
      layers.flat().map((name) => `${module}/${name}`),
    )
    expect(stated.filter((folder) => !folders.has(folder))).toEqual([])
    expect([...folders].filter((folder) => rankOf(folder) === -1)).toEqual([])
    const broken = imports
      .filter(({ from, to }) => !isTest(from) && folders.has(folderOf(from)) && folders.has(folderOf(to)))
      .filter(
        ({ from, to }) =>
          moduleOf(from) === moduleOf(to) && (rankOf(folderOf(from)) ?? 0) < (rankOf(folderOf(to)) ?? 0),
      )
      .map(({ from, to }) => `${from} → ${to}`)
    expect(broken).toEqual([])
  })

  it('has no barrels, no generic names and no module deeper than two levels', () => {
    const generic = files.filter((file) => /(^|\/)(index|utils?|helpers?|common|misc|types)(\/|\.ts$)/.test(file))
    const deep = files.filter((file) => file.split('/').length > 3)
    expect([...generic, ...deep]).toEqual([])
  })

  it('allows timers, clocks and process access only in the files listed for it', () => {
    const listed = Object.values(IMPURE).flat()
    const found = pureFiles().filter((file) => IMPURE_GLOBAL.test(codeOf(file)))
    expect(found.filter((file) => !listed.includes(file))).toEqual([])
    expect(listed.filter((file) => !found.includes(file))).toEqual([])
  })

  it('allows module-level state only in the files that memoise', () => {
    const found = pureFiles().filter((file) => MODULE_STATE.test(codeOf(file)))
    expect(found.filter((file) => !MEMOISED.includes(file))).toEqual([])
    expect(MEMOISED.filter((file) => !found.includes(file))).toEqual([])
  })

  it('begins every file with a header comment', () => {
    const bare = files.filter((file) => !isTest(file) && !/^(?:#!.*\n)?\/\*\*/.test(sourceOf(file)))
    expect(bare).toEqual([])
  })

  it('exports every name once, with at most ten exceptions', () => {
    const places = new Map<string, string[]>()
    for (const file of files.filter((each) => !isTest(each)))
      for (const [, name = ''] of sourceOf(file).matchAll(
        /^export (?:async )?(?:function\*?|class|const|type|interface) (\w+)/gm,
      ))
        places.set(name, [...(places.get(name) ?? []), file])
    const shared = [...places]
      .filter(([, where]) => where.length > 1)
      .map(([name, where]) => `${name}: ${where.join(', ')}`)
    // With the names in the failing line.
    expect(shared.length > 10 ? shared : []).toEqual([])
  })
})

function allowed(from: string, to: string): boolean {
  const [fromModule, toModule] = [moduleOf(from), moduleOf(to)]
  if (fromModule === toModule) return true
  if (isTest(from) && to.startsWith('../test/')) return true
  const may = MAY_IMPORT[fromModule]
  if (may === undefined) return false
  return may.some((module) => module === ALL || module === toModule || to.startsWith(`${module}/`))
}

/** All modules that a module looks into, by way of others, too. */
function reachable(module: string, seenFrom: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const found = new Set(seenFrom.get(module))
  // A set that grows is walked to its end.
  for (const other of found) for (const next of seenFrom.get(other) ?? []) found.add(next)
  return found
}

function pureFiles(): readonly string[] {
  return files.filter((file) => !isTest(file) && !WORLD.test(lastPart(file)))
}

function sourceOf(file: string): string {
  return readFileSync(join(SRC, file), 'utf8')
}

/** Without comments and texts, in which anything may stand. */
function codeOf(file: string): string {
  return sourceOf(file)
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''")
    .replaceAll(/\/\/[^\n]*/g, '')
}

function folderOf(file: string): string {
  return file.split('/').slice(0, 2).join('/')
}

/** `undefined` where nothing is stated about the module, -1 where only this folder was forgotten. */
function rankOf(folder: string): number | undefined {
  const [module = '', name = ''] = folder.split('/')
  return LAYERS[module]?.findIndex((layer) => layer.includes(name))
}

function moduleOf(file: string): string {
  return file.split('/')[0] ?? file
}

function lastPart(file: string): string {
  return file.split('/').at(-1) ?? file
}

function isTest(file: string): boolean {
  return file.endsWith('.test.ts') || file.endsWith('-contract.ts')
}

function sourceFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .toSorted()
}

function importsOf(file: string): readonly Import[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  const found = [
    ...text.matchAll(/^(?:import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'/gm),
    ...text.matchAll(/\bimport\((type\s)?'([^']+)'\)/g),
  ]
  return found.map(([statement, type, target = '']) => ({
    from: file,
    to: target.startsWith('.') ? relative(SRC, join(SRC, file, '..', target)) : target,
    // isIP is arithmetic on a string that happens to live beside the sockets.
    typeOnly: type !== undefined || statement === "import { isIP } from 'node:net'",
  }))
}
