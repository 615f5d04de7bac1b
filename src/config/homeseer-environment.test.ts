import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { formatConfigProblem } from './config-file.ts'
import { loadConfig } from './config-file-store.ts'
import { UNSUPPORTED_VARIABLE_NAMES } from './unsupported-variables.ts'
import {
  explainIneffectiveVariables,
  CONFIG_KEY_BY_VARIABLE,
  applyHomeseerEnvironment,
} from './homeseer-environment.ts'
import { configSchema } from './schema.ts'
import type { Config } from './schema.ts'

const config = configSchema.parse({ homeseer: { url: 'http://192.0.2.5', allow: { devices: [1] } } })

function read(environment: Record<string, string>): Config {
  const result = applyHomeseerEnvironment(config, environment)
  if (!result.ok) throw new Error(result.fault.map(formatConfigProblem).join('; '))
  return result.value
}

function refusal(environment: Record<string, string>): string {
  const result = applyHomeseerEnvironment(config, environment)
  return result.ok ? 'accepted' : result.fault.map(formatConfigProblem).join('; ')
}

describe('HS4_ and MCP_ environment variables', () => {
  it('leave the configuration unchanged when none is set', () => {
    expect(read({ HS4_USER: '', PATH: '/bin' })).toBe(config)
  })

  it('override single keys of the configuration file', () => {
    const { homeseer, listen, logLevel } = read({
      HS4_BASE_URL: 'http://me:secret@192.0.2.9:8080/?user=a&pass=b',
      HS4_SAFE_MODE: 'read_only',
      HS4_DEFAULT_DRY_RUN: 'yes',
      HS4_ALLOWED_DEVICE_REFS: '100-110, 200',
      HS4_ADMIN_ENABLED: 'on',
      HS4_ADMIN_USERS_ENABLED: '1',
      HS4_ADMIN_ALLOWED_MAINTENANCE_WINDOW_IDS: 'Sunday,Monday',
      HS4_ADMIN_CAPABILITY_CACHE_TTL_SEC: '0',
      MCP_HTTP_PORT: '7500',
      MCP_LOG_LEVEL: 'debug',
    })
    expect(homeseer).toMatchObject({
      url: 'http://192.0.2.9:8080',
      safeMode: 'read_only',
      defaultDryRun: true,
      allow: { devices: ['100-110', '200'] },
      admin: { enabled: true, users: true, plugins: false, allowedMaintenanceWindowIds: ['Sunday', 'Monday'] },
    })
    expect(homeseer.admin.capabilityCacheSeconds).toBe(0)
    expect([listen.port, logLevel]).toEqual([7_500, 'debug'])
  })

  it('lift an allow list only with an asterisk, and are refused when malformed', () => {
    expect(read({ HS4_ALLOWED_DEVICE_REFS: '*' }).homeseer.allow.devices).toBeUndefined()
    expect(refusal({ HS4_ALLOWED_DEVICE_REFS: ',,' })).toContain('nothing but commas')
    expect(refusal({ HS4_ALLOWED_DEVICE_REFS: 'kitchen' })).toContain('HS4_ALLOWED_DEVICE_REFS')
    expect(refusal({ HS4_ALLOWED_DEVICE_REFS: '110-100' })).toContain('the smaller number first')
    expect(refusal({ HS4_ALLOWED_SCRIPTS: ',' })).toContain('HS4_ALLOWED_SCRIPTS')
  })

  it.each([
    ['HS4_SAFE_MODE', 'readonly'],
    ['HS4_REQUIRE_CONFIRM', 'perhaps'],
    ['HS4_ADMIN_EXECUTION_MODE', 'Direct!'],
    ['HS4_TIMEOUT_MS', 'soon'],
    ['HS4_TIMEOUT_MS', '1'],
    ['HS4_BASE_URL', 'ftp://192.0.2.5'],
    ['MCP_HTTP_AUTH_TOKEN', 'hunter2'],
    ['MCP_HTTP_AUTH_REQUIRED_NON_LOOPBACK', 'false'],
    ['MCP_HTTP_AUTH_PROTECT_HEALTHZ', 'true'],
    ['MCP_HTTP_ACCEPT_MODE', 'lenient'],
    ['MCP_HTTP_ALLOW_NON_LOOPBACK', 'maybe'],
    ['MCP_TRANSPORT', 'carrier-pigeon'],
    ['MCP_LOG_LEVEL', 'loud'],
    ['MCP_LOG_PRETTY', 'very'],
    ['HS4_CHANGE_TOKEN_MAX_ENTRIES', '99'],
    ['HS4_SAFEMODE', 'read_only'],
    ['HS4_FAVOURITE_COLOUR', 'blue'],
  ])('refuse the start with %s=%s, and name the variable', (name, value) => {
    expect(refusal({ [name]: value })).toContain(`environment: ${name}: `)
    expect(refusal({ [name]: value })).not.toContain('hunter2')
  })

  it('MCP_HTTP_AUTH_TOKEN is stored as a hash and turns anonymous access off', () => {
    const { listen } = read({ MCP_HTTP_AUTH_TOKEN: 'replace-me' })
    // printf %s replace-me | sha256sum
    expect(listen.tokenHash).toBe('1df4b07d05b9b3b1115b4b6b22af319a2f99564a2fa2573a34896063c7513c10')
    expect(listen.anonymous).toBe('off')
    expect(refusal({ MCP_HTTP_AUTH_TOKEN: 'has blanks in it' })).toContain('MCP_HTTP_AUTH_TOKEN')
  })

  it('suggest the right name for a misspelt variable', () => {
    expect(refusal({ HS4_SAFEMODE: 'read_only' })).toContain('is HS4_SAFE_MODE meant?')
    expect(refusal({ MCP_TIMEOUT: '1', HS3_X: '1' })).toBe('accepted')
  })

  it('MCP_HTTP_ALLOW_NON_LOOPBACK=no refuses a listener on 0.0.0.0', () => {
    expect(refusal({ MCP_HTTP_ALLOW_NON_LOOPBACK: 'no' })).toBe('accepted')
    expect(refusal({ MCP_HTTP_ALLOW_NON_LOOPBACK: 'no', MCP_HTTP_HOST: '0.0.0.0' })).toContain('listen.host is 0.0.0.0')
    expect(refusal({ MCP_HTTP_ALLOW_NON_LOOPBACK: 'yes', MCP_HTTP_HOST: '0.0.0.0' })).toBe('accepted')
  })

  it('without effect are reported, unless the gateway already behaves as they ask', () => {
    const without = {
      MCP_TRANSPORT: 'http',
      MCP_HTTP_ACCEPT_MODE: 'compat',
      MCP_HTTP_ALLOW_JSON_ONLY: 'true',
      MCP_LOG_PRETTY: '1',
      MCP_AUDIT_MAX_ENTRIES: '5000',
      MCP_AUDIT_PERSIST_PATH: '/var/log/audit.jsonl',
      HS4_CHANGE_TOKEN_PERSIST_PATH: '/var/lib/tokens.jsonl',
    }
    expect(explainIneffectiveVariables(without).map((note) => note.split(' has no effect here: ')[0])).toEqual(
      Object.keys(without),
    )
    expect(read(without)).toBe(config)
    const holds = {
      MCP_HTTP_AUTH_REQUIRED_NON_LOOPBACK: 'true',
      MCP_HTTP_AUTH_PROTECT_HEALTHZ: 'false',
      MCP_HTTP_ACCEPT_MODE: 'strict',
      MCP_HTTP_ALLOW_JSON_ONLY: 'off',
      MCP_LOG_PRETTY: 'false',
    }
    expect(explainIneffectiveVariables(holds)).toEqual([])
    expect(read(holds)).toBe(config)
  })

  it('are all listed in docs/protocols/homeseer.md', () => {
    const document = readFileSync(new URL('../../docs/protocols/homeseer.md', import.meta.url), 'utf8')
    const rows = document.split('\n').filter((line) => /^\| `(HS4|MCP)_/.test(line))
    for (const [name, key] of CONFIG_KEY_BY_VARIABLE)
      expect(rows).toContainEqual(expect.stringContaining(`| \`${name}\` | \`${key}\``))
    for (const name of UNSUPPORTED_VARIABLE_NAMES)
      expect(rows).toContainEqual(expect.stringContaining(`| \`${name}\` | `))
    expect(rows).toHaveLength(CONFIG_KEY_BY_VARIABLE.size + UNSUPPORTED_VARIABLE_NAMES.length + 1)
  })

  it('apply without any configuration file', () => {
    const nowhere = { XDG_CONFIG_HOME: '/nonexistent' }
    const found = loadConfig(undefined, { ...nowhere, HS4_BASE_URL: 'http://192.0.2.5/' }, '/nonexistent')
    expect(found.ok && found.value.config.homeseer.url).toBe('http://192.0.2.5')
    expect(loadConfig(undefined, { ...nowhere, HS4_SAFE_MODE: 'readonly' }, '/nonexistent').ok).toBe(false)
  })

  it('accept HS4_REQUIRE_CHANGE_TICKET, and HS4_ADMIN_REQUIRE_CHANGE_TICKET overrides it', () => {
    expect(read({ HS4_REQUIRE_CHANGE_TICKET: 'false' }).homeseer.admin.requireChangeTicket).toBe(false)
    const both = { HS4_REQUIRE_CHANGE_TICKET: 'false', HS4_ADMIN_REQUIRE_CHANGE_TICKET: 'true' }
    expect(read(both).homeseer.admin.requireChangeTicket).toBe(true)
  })
})
