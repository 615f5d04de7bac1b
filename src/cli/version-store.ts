/**
 * Version: the version in package.json.
 */
import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

export const PACKAGE_VERSION = version
