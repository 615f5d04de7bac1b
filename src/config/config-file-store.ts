/**
 * Config store: finds and reads the configuration file; the contract's environment variables override it.
 */
import { readFileSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { ok, fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { explainUnreadableFile, readSystemErrorCode } from '../core/thrown-error.ts'
import { parseConfig, parseLedgerPinsKey } from './config-file.ts'
import type { ConfigProblem } from './config-file.ts'
import { explainIneffectiveVariables, applyHomeseerEnvironment } from './homeseer-environment.ts'
import { listIneffectiveSettings } from './ineffective-settings.ts'
import type { Config } from './schema.ts'

/**
 * Without `fatal`, bytes in another encoding would silently become other characters, in names of rooms and in
 * passwords.
 */
const UTF_8 = new TextDecoder('utf-8', { fatal: true })

type Environment = Readonly<Record<string, string | undefined>>

export interface LoadedConfig {
  readonly config: Config
  /** `undefined` when there is no file and everything has its default. */
  readonly path: string | undefined
  /** Sentences about variables that are set and have no effect. */
  readonly notes: readonly string[]
  /** Sentences about configuration keys that are set and have no effect. */
  readonly idle: readonly string[]
}

/** The path is `given`, else `$HEARTHBUS_CONFIG`, else a file in the XDG configuration directory. */
export function resolveConfigPath(
  given: string | undefined,
  environment: Environment,
  home: string,
): { readonly path: string; readonly named: boolean } {
  const chosen = given ?? environment['HEARTHBUS_CONFIG']
  if (chosen !== undefined && chosen !== '') return { path: resolve(chosen), named: true }
  const xdg = environment['XDG_CONFIG_HOME']
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, '.config')
  return { path: join(base, 'hearthbus', 'hearthbus.yaml'), named: false }
}

/** A file that was named must exist; the default one may be absent. */
export function loadConfig(
  given: string | undefined,
  environment: Environment,
  home: string,
): Result<LoadedConfig, readonly ConfigProblem[]> {
  const { path, named } = resolveConfigPath(given, environment, home)
  let text = ''
  let present = true
  try {
    text = UTF_8.decode(readFileSync(path))
  } catch (error) {
    // Any other error with the default file (permissions, a directory of that name) is not treated as its absence.
    const absent = readSystemErrorCode(error) === 'ENOENT'
    if (named || !absent)
      return fail([
        {
          file: path,
          line: undefined,
          key: '',
          message: explainUnreadableConfig(error),
        },
      ])
    present = false
  }
  const read = parseConfig(path, text)
  // The environment is applied last: spec 4's variables override the file.
  const config = read.ok ? applyHomeseerEnvironment(read.value, environment) : read
  if (!config.ok) return config
  return ok({
    config: config.value,
    path: present ? path : undefined,
    notes: explainIneffectiveVariables(environment),
    idle: listIneffectiveSettings(config.value, isFolder),
  })
}

/**
 * What `ledger.pins` says, for commands that need no other key: to validate the whole file takes longer than what they
 * do. A file that cannot be read has no such key.
 */
export function readLedgerPinsKey(
  given: string | undefined,
  environment: Environment,
  home: string,
): string | undefined {
  let text: string
  try {
    text = readFileSync(resolveConfigPath(given, environment, home).path, 'utf8')
  } catch {
    return undefined
  }
  // Most files have no such key, and need not be parsed.
  return text.includes('pins') ? parseLedgerPinsKey(text) : undefined
}

function explainUnreadableConfig(error: unknown): string {
  return error instanceof TypeError ? 'is not UTF-8 text. Save it as UTF-8.' : explainUnreadableFile(error)
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
