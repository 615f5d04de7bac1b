/**
 * Version: what package.json says.
 *
 * Does I/O.
 */
import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

export const VERSION = version
