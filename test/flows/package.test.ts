import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectHttp, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { Home } from '../gateway-process.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }

const PROGRAM = `
import { createLogger, defineChange, defineService, ok, parseConfig, startGateway } from 'hearthbus'
import type { Gateway } from 'hearthbus'
import { z } from 'zod'

const ring = defineChange({
  name: 'bell.ring', title: 'Ring', description: 'Rings the bell.', effect: 'writes',
  input: z.strictObject({ times: z.number().describe('How often') }), output: z.strictObject({ rung: z.number() }),
  plan: ({ times }) => ok(times),
  assess: () => ({ effect: 'writes', target: 'bell', reasons: [] }),
  act: (times) => ok({ data: { rung: times } }),
})
const bell = defineService({ name: 'bell', capabilities: [ring] })
const config = parseConfig('inline', 'listen: { port: 0 }')
if (!config.ok) throw new Error('config')
const started = await startGateway({
  config: config.value, dataRoot: process.argv[2] ?? '', version: '1.0.0', logger: createLogger('warn'), listen: false,
  services: () => [bell],
})
if (!started.ok) throw new Error(started.fault.message)
const gateway: Gateway = started.value
const outcome = await gateway.bus.call('bell.ring', undefined, { times: 3 }, {
  caller: { kind: 'principal', id: 'porter', role: 'agent' }, channel: 'service',
})
console.log(JSON.stringify(outcome.ok ? outcome.value.data : outcome.fault))
console.log(JSON.stringify(gateway.bus.offer('bell.ring')?.requestSchema['properties']))
await gateway.stop()
`

const EXAMPLES = ['small-service.ts', 'own-service.ts', 'own-gateway.ts']

// As npm lays it out: the package in one folder, and a stranger's program that depends on it in another.
describe('the package, built and installed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-package-'))
  const installed = join(folder, 'node_modules', 'hearthbus')
  let home: Home

  beforeAll(() => {
    home = createHome()
    mkdirSync(installed, { recursive: true })
    execFileSync(process.execPath, [join(ROOT, 'tools/build-gateway.mjs'), join(installed, 'dist')], { stdio: 'pipe' })
    cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'))
    cpSync(join(ROOT, 'console/dist'), join(installed, 'console/dist'), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'))
    for (const name of ['zod', '@types'])
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(join(folder, 'bell.ts'), PROGRAM)
    for (const name of EXAMPLES) {
      const text = readFileSync(join(ROOT, 'examples', name), 'utf8')
      writeFileSync(join(folder, name), text.replaceAll("'../src/hearthbus.ts'", "'hearthbus'"))
    }
  })

  afterAll(() => {
    home.remove()
    rmSync(folder, { recursive: true })
  })

  it('starts, serves an MCP client, and serves the console', async () => {
    const gateway = await startGatewayProcess(home, [], join(installed, 'dist/cli.js'))
    const client = await connectHttp(gateway.url, 'modern')
    const { structuredContent } = await client.callTool({ name: 'server_health', arguments: {} })
    expect(structuredContent).toMatchObject({ ok: true, data: { status: 'ok', version } })
    await client.close()
    const page = await fetch(`${gateway.url}/`)
    expect(await page.text()).toContain('<title>Hearthbus</title>')
    expect(await gateway.stop()).toBe(0)
  })

  it('names the required Node version when started with an older one', () => {
    const cli = join(installed, 'dist/cli.js')
    const older = "data:text/javascript,Object.defineProperty(process, 'version', { value: 'v20.20.2' })"
    const { status, stderr } = spawnSync(process.execPath, ['--import', older, cli, 'status'], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([2, 'Hearthbus needs Node 24 or newer; this is v20.20.2.\n'])
    // What is imported at the top is looked for before any line is run.
    expect(readFileSync(cli, 'utf8')).not.toMatch(/^import /m)
  })

  it('compiles and runs in a program that depends on it', () => {
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--skipLibCheck',
      '--types',
      'node',
    ]
    const tsc = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), [...flags, 'bell.ts'], { cwd: folder, encoding: 'utf8' })
    expect([tsc.status, tsc.stdout]).toEqual([0, ''])
    const run = spawnSync(process.execPath, ['bell.ts', join(folder, 'data')], { cwd: folder, encoding: 'utf8' })
    expect([run.status, run.stderr]).toEqual([0, ''])
    expect(run.stdout).toBe('{"rung":3}\n{"times":{"type":"number","description":"How often"}}\n')
  })

  it('compiles and runs the examples with changed import paths only', async () => {
    const flags = '--noEmit --strict --module nodenext --target es2024 --skipLibCheck --types node'.split(' ')
    const also = ['--allowImportingTsExtensions', ...EXAMPLES]
    const tsc = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), [...flags, ...also], { cwd: folder, encoding: 'utf8' })
    expect([tsc.status, tsc.stdout]).toEqual([0, ''])
    const child = spawn(process.execPath, ['own-gateway.ts', join(folder, 'garden')], { cwd: folder })
    let said = ''
    for await (const text of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
      said += text
      if (said.includes('Ctrl-C')) break
    }
    expect(said).toContain('{"open":true}')
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('has a small-service example of at most fifteen lines', () => {
    const text = readFileSync(join(ROOT, 'examples/small-service.ts'), 'utf8')
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('//')).length).toBeLessThanOrEqual(15)
  })
})
