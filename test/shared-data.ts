/**
 * Test data: vectors in `test/vectors`, and more of them in `../shared/data`, which a stranger's clone does not have.
 */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The text of a shared file, for tests beside those that have their vectors in the repository; `undefined` elsewhere. */
export function sharedData(name: string): string | undefined {
  const path = fileURLToPath(new URL(`../../shared/data/${name}`, import.meta.url))
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** The rows of a file in `test/vectors`; its first line says where they come from. */
export function vectorRows(name: string): readonly unknown[] {
  const [, ...lines] = readFileSync(new URL(`./vectors/${name}.jsonl`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line): unknown => JSON.parse(line))
}

/** One telegram that was heard on a real bus. */
export type RecordedTelegram = readonly [wire: string, ebusd: string, form: string, logical: string]
