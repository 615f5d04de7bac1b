/**
 * Config store: finds and reads the configuration file; the contract's environment variables override it.
 */
import { readFileSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { ok, fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { systemErrorCode, thrownMessage } from '../core/thrown.ts'
import { readConfig } from './config-file.ts'
import type { ConfigProblem } from './config-file.ts'
import { explainIdleVariables, withHomeseerEnvironment } from './homeseer-environment.ts'
import { listIdleSettings } from './idle-settings.ts'
import type { Config } from './schema.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface LoadedConfig {
  readonly config: Config
  /** `undefined`: there is no file, everything has its default. */
  readonly path: string | undefined
  /** Sentences for whoever starts it: variables that are set and do nothing. */
  readonly notes: readonly string[]
  /** The same of keys. */
  readonly idle: readonly string[]
}

/** `given` wins, then `$HEARTHBUS_CONFIG`, then the XDG configuration directory. */
export function configPath(
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

/** A file that was named must be there; the usual one may be absent. */
export function loadConfig(
  given: string | undefined,
  environment: Environment,
  home: string,
): Result<LoadedConfig, readonly ConfigProblem[]> {
  const { path, named } = configPath(given, environment, home)
  let text = ''
  let present = true
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    // Any other trouble with the usual file (rights, a directory of that name) is not taken for its absence.
    const absent = systemErrorCode(error) === 'ENOENT'
    if (named || !absent)
      return fail([
        {
          file: path,
          line: undefined,
          key: '',
          message: `cannot be read (${thrownMessage(error)})`,
        },
      ])
    present = false
  }
  const read = readConfig(path, text)
  // The environment comes last: spec 4's variables override the file.
  const config = read.ok ? withHomeseerEnvironment(read.value, environment) : read
  if (!config.ok) return config
  return ok({
    config: config.value,
    path: present ? path : undefined,
    notes: explainIdleVariables(environment),
    idle: listIdleSettings(config.value, isFolder),
  })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
