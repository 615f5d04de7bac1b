import { describe, expect, it } from 'vitest'
import { problemText } from './config-file.ts'
import { loadConfig } from './config-store.ts'
import { withHomeseerEnvironment } from './homeseer-environment.ts'
import { configSchema } from './schema.ts'
import type { Config } from './schema.ts'

const config = configSchema.parse({ homeseer: { url: 'http://192.0.2.5', allow: { devices: [1] } } })

function read(environment: Record<string, string>): Config {
  const result = withHomeseerEnvironment(config, environment)
  if (!result.ok) throw new Error(result.fault.map(problemText).join('; '))
  return result.value
}

function refusal(environment: Record<string, string>): string {
  const result = withHomeseerEnvironment(config, environment)
  return result.ok ? 'accepted' : result.fault.map(problemText).join('; ')
}

describe('the contract’s environment', () => {
  it('leaves the file alone when nothing is set', () => {
    expect(read({ HS4_USER: '', PATH: '/bin' })).toBe(config)
  })

  it('overrides the file, key by key', () => {
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

  it('lifts a restriction only with an asterisk', () => {
    expect(read({ HS4_ALLOWED_DEVICE_REFS: '*' }).homeseer.allow.devices).toBeUndefined()
    expect(refusal({ HS4_ALLOWED_DEVICE_REFS: ',,' })).toContain('nothing but commas')
    expect(refusal({ HS4_ALLOWED_DEVICE_REFS: 'kitchen' })).toContain('HS4_ALLOWED_DEVICE_REFS')
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
  ])('refuses to start with %s=%s, by name', (name, value) => {
    expect(refusal({ [name]: value })).toContain(`environment: ${name}: `)
    expect(refusal({ [name]: value })).not.toContain('hunter2')
  })

  it('counts without any file, too', () => {
    const nowhere = { XDG_CONFIG_HOME: '/nonexistent' }
    const found = loadConfig(undefined, { ...nowhere, HS4_BASE_URL: 'http://192.0.2.5/' }, '/nonexistent')
    expect(found.ok && found.value.config.homeseer.url).toBe('http://192.0.2.5')
    expect(loadConfig(undefined, { ...nowhere, HS4_SAFE_MODE: 'readonly' }, '/nonexistent').ok).toBe(false)
  })

  it('takes the older spelling of the ticket rule, and the contract’s over it', () => {
    expect(read({ HS4_REQUIRE_CHANGE_TICKET: 'false' }).homeseer.admin.requireChangeTicket).toBe(false)
    const both = { HS4_REQUIRE_CHANGE_TICKET: 'false', HS4_ADMIN_REQUIRE_CHANGE_TICKET: 'true' }
    expect(read(both).homeseer.admin.requireChangeTicket).toBe(true)
  })
})
