/**
 * Shared data: vectors and captures that live beside the project, in `../shared/data`, and not in a stranger's clone.
 *
 * Does I/O.
 */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The text of a shared file, or `undefined` after saying loudly that the tests which need it do not run. */
export function sharedData(name: string): string | undefined {
  const path = fileURLToPath(new URL(`../../shared/data/${name}`, import.meta.url))
  if (existsSync(path)) return readFileSync(path, 'utf8')
  process.stderr.write(`\nNOT RUN: ${path} is not here, so the vectors in ${name} were not checked.\n\n`)
  return undefined
}
