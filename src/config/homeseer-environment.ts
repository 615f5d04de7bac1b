/**
 * HomeSeer environment: the variables of the contract (`HS4_*`, `MCP_*`), which override the configuration file.
 *
 *   HS4_ADMIN_USERS_ENABLED=true ─▶ homeseer.admin.users      an invalid value ─▶ a problem, and no start
 *
 * A safety switch that is spelt wrongly must not mean its opposite, so nothing here falls back to a default.
 */
import { hash } from 'node:crypto'
import type { ConfigProblem } from './config-file.ts'
import { explainUnsupportedVariables } from './unsupported-variables.ts'
import { configSchema } from './schema.ts'
import type { Config } from './schema.ts'
import { isLoopback } from '../core/loopback.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** `undefined` removes the key: the variable says that there is no restriction. */
type Read = { readonly value: unknown } | { readonly wrong: string }

interface Variable {
  readonly key: readonly string[]
  readonly read: (text: string) => Read
}

const VARIABLES: Readonly<Record<string, Variable>> = {
  HS4_BASE_URL: to('homeseer.url', baseUrl),
  HS4_USER: to('homeseer.user', text),
  HS4_PASS: to('homeseer.password', text),
  HS4_TIMEOUT_MS: to('homeseer.timeoutMs', number),
  HS4_READ_RETRIES: to('homeseer.readRetries', number),
  HS4_READ_RETRY_BACKOFF_MS: to('homeseer.readRetryBackoffMs', number),
  HS4_STATUS_INCLUDE_EVERYTHING: to('homeseer.statusIncludeEverything', boolean),
  HS4_MAX_DEVICES_DEFAULT_CAP: to('homeseer.maxDevices', number),
  HS4_STATUS_CACHE_TTL_MS: to('homeseer.statusCacheMs', number),
  HS4_SCRIPT_PAGE_PATH: to('homeseer.scriptPage', text),
  HS4_EVENTS_DATA_PATH: to('homeseer.eventsPath', text),
  HS4_EVENT_GROUPS_DATA_PATH: to('homeseer.eventGroupsPath', text),
  HS4_SAFE_MODE: to('homeseer.safeMode', text),
  HS4_REQUIRE_CONFIRM: to('homeseer.requireConfirm', boolean),
  HS4_DEFAULT_DRY_RUN: to('homeseer.defaultDryRun', boolean),
  HS4_ALLOWED_DEVICE_REFS: to('homeseer.allow.devices', list),
  HS4_ALLOWED_EVENT_IDS: to('homeseer.allow.events', list),
  HS4_ALLOWED_CAMERA_IDS: to('homeseer.allow.cameras', list),
  HS4_ALLOWED_SCRIPTS: to('homeseer.allow.scripts', list),
  HS4_ALLOWED_PLUGIN_FUNCTIONS: to('homeseer.allow.pluginFunctions', list),
  HS4_ADMIN_ENABLED: to('homeseer.admin.enabled', boolean),
  HS4_ADMIN_USERS_ENABLED: to('homeseer.admin.users', boolean),
  HS4_ADMIN_PLUGINS_ENABLED: to('homeseer.admin.plugins', boolean),
  HS4_ADMIN_INTERFACES_ENABLED: to('homeseer.admin.interfaces', boolean),
  HS4_ADMIN_SYSTEM_ENABLED: to('homeseer.admin.system', boolean),
  HS4_ADMIN_CAMERAS_ENABLED: to('homeseer.admin.cameras', boolean),
  HS4_ADMIN_EVENTS_ENABLED: to('homeseer.admin.events', boolean),
  HS4_ADMIN_CONFIG_ENABLED: to('homeseer.admin.config', boolean),
  HS4_ADMIN_MAINTENANCE_WINDOW_ID: to('homeseer.admin.maintenanceWindowId', text),
  HS4_ADMIN_ALLOWED_MAINTENANCE_WINDOW_IDS: to('homeseer.admin.allowedMaintenanceWindowIds', list),
  // The older spelling comes first, so that the contract's own name wins where both are set.
  HS4_REQUIRE_CHANGE_TICKET: to('homeseer.admin.requireChangeTicket', boolean),
  HS4_ADMIN_REQUIRE_CHANGE_TICKET: to('homeseer.admin.requireChangeTicket', boolean),
  HS4_ADMIN_ROLLBACK_ENABLED: to('homeseer.admin.rollback', boolean),
  HS4_ADMIN_EXECUTION_MODE: to('homeseer.admin.executionMode', text),
  HS4_ADMIN_DIRECT_FALLBACK: to('homeseer.admin.directFallback', boolean),
  HS4_ADMIN_CAPABILITY_CACHE_TTL_SEC: to('homeseer.admin.capabilityCacheSeconds', number),
  HS4_ADMIN_ALLOWED_USER_IDS: to('homeseer.admin.allowedUserIds', list),
  HS4_ADMIN_ALLOWED_PLUGIN_IDS: to('homeseer.admin.allowedPluginIds', list),
  HS4_ADMIN_ALLOWED_INTERFACE_IDS: to('homeseer.admin.allowedInterfaceIds', list),
  HS4_ADMIN_ALLOWED_CATEGORY_IDS: to('homeseer.admin.allowedCategoryIds', list),
  HS4_ALIAS_LEARNED_ENABLED: to('homeseer.learnAliases', boolean),
  HS4_ALIAS_CONFIG_PATH: to('homeseer.aliasFile', text),
  HS4_CHANGE_TOKEN_TTL_SEC: to('homeseer.changeTokenSeconds', number),
  HS4_CHANGE_TOKEN_MAX_ENTRIES: to('homeseer.changeTokenEntries', number),
  MCP_HTTP_HOST: to('listen.host', text),
  MCP_HTTP_PORT: to('listen.port', number),
  MCP_HTTP_AUTH_TOKEN: to('listen.tokenHash', tokenHash),
  MCP_LOG_LEVEL: to('logLevel', logLevel),
}

/** Can only forbid a listener beyond this machine; `listen.host` decides whether there is one. */
const LOOPBACK_ONLY = 'MCP_HTTP_ALLOW_NON_LOOPBACK'

const AUTH_TOKEN = 'MCP_HTTP_AUTH_TOKEN'
const MIN_TOKEN = 8

/** Which key each variable sets. */
export const CONFIG_KEY_BY_VARIABLE: ReadonlyMap<string, string> = new Map(
  Object.entries(VARIABLES).map(([name, { key }]) => [name, key.join('.')]),
)

const KNOWN: ReadonlySet<string> = new Set([...CONFIG_KEY_BY_VARIABLE.keys(), LOOPBACK_ONLY])

/** Sentences about variables that are set and have no effect, each with what to use instead. */
export function explainIneffectiveVariables(environment: Environment): readonly string[] {
  return explainUnsupportedVariables(environment, KNOWN).notes.map(({ name, message }) => `${name} ${message}`)
}

/** Reports all problems at once. Values from variables are checked by the same schema as the file. */
export function applyHomeseerEnvironment(
  config: Config,
  environment: Environment,
): Result<Config, readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = []
  let raw: unknown = config
  const sources = new Map<string, string>()
  for (const { name, message } of explainUnsupportedVariables(environment, KNOWN).wrong)
    problems.push(problem(name, message))
  for (const [name, { key, read }] of Object.entries(VARIABLES)) {
    const text = environment[name]
    if (!given(text)) continue
    const found = read(text.trim())
    if ('wrong' in found) problems.push(problem(name, found.wrong))
    else raw = replaced(raw, key, found.value)
    sources.set(key.join('.'), name)
  }
  // An owner who sets this variable expects a token to be required, so anonymous callers are refused.
  if (given(environment[AUTH_TOKEN])) raw = replaced(raw, ['listen', 'anonymous'], 'off')
  if (problems.length > 0) return fail(problems)
  if (sources.size === 0) return onlyHere(config, environment)
  const parsed = configSchema.safeParse(raw)
  if (parsed.success) return onlyHere(parsed.data, environment)
  return fail(parsed.error.issues.map(({ path, message }) => problem(sourceOf(sources, path.map(String)), message)))
}

/** Checked last, when `listen.host` has its final value. */
function onlyHere(config: Config, environment: Environment): Result<Config, readonly ConfigProblem[]> {
  const raw = environment[LOOPBACK_ONLY]
  const allowed = given(raw) ? boolean(raw.trim()) : { value: true }
  if ('wrong' in allowed) return fail([problem(LOOPBACK_ONLY, allowed.wrong)])
  const { host } = config.listen
  if (allowed.value === true || isLoopback(host)) return ok(config)
  return fail([problem(LOOPBACK_ONLY, `says no, and listen.host is ${host}, which is beyond this machine`)])
}

function given(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== ''
}

function to(key: string, read: Variable['read']): Variable {
  return { key: key.split('.'), read }
}

function text(value: string): Read {
  return { value }
}

/** Only the token's hash is kept, as for every other token. */
function tokenHash(value: string): Read {
  if (value.length < MIN_TOKEN || /[\s,]/.test(value))
    return { wrong: `a token has at least ${MIN_TOKEN} characters, and neither blanks nor commas` }
  return { value: hash('sha256', value) }
}

/** Maps pino's levels; ours have none below debug and none above error. */
function logLevel(value: string): Read {
  const level = value.toLowerCase()
  return { value: level === 'trace' ? 'debug' : level === 'fatal' ? 'error' : level }
}

function boolean(value: string): Read {
  if (/^(1|true|yes|on)$/i.test(value)) return { value: true }
  if (/^(0|false|no|off)$/i.test(value)) return { value: false }
  return { wrong: `${JSON.stringify(value)} is neither true nor false` }
}

function number(value: string): Read {
  return /^-?\d{1,12}(\.\d{1,6})?$/.test(value)
    ? { value: Math.floor(Number(value)) }
    : { wrong: `${JSON.stringify(value)} is not a number` }
}

/**
 * A list of nothing but commas is a mistake. In an allow list it must not be read as empty, because that would allow
 * everything.
 */
function list(value: string): Read {
  if (value === '*') return { value: undefined }
  const items = value.split(',').map((item) => item.trim())
  const nonEmpty = items.filter((item) => item !== '')
  return nonEmpty.length === 0 ? { wrong: 'holds nothing but commas; use * for no restriction' } : { value: nonEmpty }
}

/** Credentials do not belong in a URL, because it is shown, logged and compared. */
function baseUrl(value: string): Read {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol)) return { wrong: 'is not an http address' }
  url.username = ''
  url.password = ''
  url.searchParams.delete('user')
  url.searchParams.delete('pass')
  return { value: url.href.replace(/\/+$/, '') }
}

/** A copy with one key set or removed; missing sections on the way are created. */
function replaced(from: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  const { [step]: inner, ...others } = (from ?? {}) as Record<string, unknown>
  if (rest.length > 0) return { ...others, [step]: replaced(inner, rest, value) }
  return value === undefined ? others : { ...others, [step]: value }
}

/** The variable that set the invalid value, or the key itself. */
function sourceOf(sources: ReadonlyMap<string, string>, path: readonly string[]): string {
  for (let length = path.length; length > 0; length--) {
    const name = sources.get(path.slice(0, length).join('.'))
    if (name !== undefined) return name
  }
  return path.join('.')
}

function problem(name: string, message: string): ConfigProblem {
  return { file: 'environment', line: undefined, key: name, message }
}
