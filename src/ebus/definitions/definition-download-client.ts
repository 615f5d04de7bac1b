/**
 * Definition download: definition files from an address in the layout that ebusd downloads, once, into a folder of ours.
 *
 *   index.json  names separated by line breaks, folders end in /       files named by !load and !include follow
 *
 * The downloaded files are pinned by their hashes. They are never downloaded again automatically, and work offline.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { z } from 'zod'
import { readBoundedFile } from '../../core/bounded-file-store.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { readErrorMessage } from '../../core/thrown-error.ts'
import { readResponseText } from '../../toolbox/response-body.ts'

const pinShape = z.object({
  url: z.string(),
  fetched_at: z.string(),
  /** The hash over the hashes of all files, in the order of their names. */
  sha256: z.string(),
  files: z.record(z.string(), z.string()),
})

export type DefinitionPin = z.output<typeof pinShape>

/** `absent`: nothing was downloaded from that URL. `changed`: a file was changed since. */
export type DefinitionPinFault = { readonly kind: 'absent' } | { readonly kind: 'changed'; readonly file: string }

export interface DefinitionDownloadOptions {
  readonly url: string
  readonly folder: string
  readonly now: () => number
  readonly fetch: (url: string) => Promise<Response>
}

const PIN = 'pin.json'
const MAX_FILES = 2_000
const MAX_BYTES = 32_000_000
/** Allows no name that leads out of the folder. */
const NAME = /^[\w$-][\w.$-]*$/
const INSTRUCTION = /(?:^|\])!(?:load|include),\s*"?([^,"\s]+)/gm

/** The pin of an earlier download from that URL, if all of its files are unchanged. */
export function loadPinOfUnchangedDefinitions(folder: string, url: string): Result<DefinitionPin, DefinitionPinFault> {
  const text = readOrNothing(join(folder, PIN))
  if (text === undefined) return fail({ kind: 'absent' })
  let pin: DefinitionPin
  try {
    pin = pinShape.parse(JSON.parse(text))
  } catch {
    return fail({ kind: 'changed', file: PIN })
  }
  if (pin.url !== url) return fail({ kind: 'absent' })
  for (const [file, sha256] of Object.entries(pin.files)) {
    const content = readOrNothing(join(folder, file))
    if (content === undefined || hashOf(content) !== sha256) return fail({ kind: 'changed', file })
  }
  return ok(pin)
}

/** All or nothing: the earlier files stay until everything is downloaded. */
export async function downloadAndPinDefinitions(
  options: DefinitionDownloadOptions,
): Promise<Result<DefinitionPin, string>> {
  const { folder, now } = options
  const url = options.url.endsWith('/') ? options.url : `${options.url}/`
  const waiting = `${folder}.new`
  try {
    const files = await fetchAll(url, options.fetch)
    if (!files.ok) return files
    rmSync(waiting, { recursive: true, force: true })
    const hashes: Record<string, string> = {}
    for (const [file, text] of [...files.value].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
      const path = join(waiting, file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      hashes[file] = hashOf(text)
    }
    const pin: DefinitionPin = {
      url: options.url,
      fetched_at: new Date(now()).toISOString(),
      sha256: hashOf(Object.entries(hashes).join('\n')),
      files: hashes,
    }
    writeFileSync(join(waiting, PIN), `${JSON.stringify(pin, null, 1)}\n`)
    rmSync(folder, { recursive: true, force: true })
    renameSync(waiting, folder)
    return ok(pin)
  } catch (error) {
    return fail(readErrorMessage(error))
  }
}

async function fetchAll(
  url: string,
  get: DefinitionDownloadOptions['fetch'],
): Promise<Result<ReadonlyMap<string, string>, string>> {
  const files = new Map<string, string>()
  const queue = ['index.json', '_templates.csv']
  const seen = new Set(queue)
  let bytes = 0
  const want = (path: string): void => {
    if (seen.has(path) || !path.split('/').every((part) => NAME.test(part))) return
    seen.add(path)
    queue.push(path)
  }
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (files.size >= MAX_FILES) return fail(`more than ${MAX_FILES} files`)
    const response = await get(url + path)
    if (response.status === 404 && path !== 'index.json') continue
    if (response.status !== 200) return fail(`${url}${path} answers ${response.status}`)
    const text = await readResponseText(response, MAX_BYTES - bytes)
    if (text === undefined) return fail(`more than ${MAX_BYTES} bytes`)
    bytes += Buffer.byteLength(text)
    const folder = posix.dirname(path)
    if (path.endsWith('index.json')) {
      for (const name of indexNames(text))
        if (name.endsWith('/'))
          for (const file of ['index.json', '_templates.csv']) want(posix.join(folder, name, file))
        else if (name.endsWith('.csv') || name.endsWith('.inc')) want(posix.join(folder, name))
      continue
    }
    files.set(path, text)
    for (const [, file = ''] of text.matchAll(INSTRUCTION)) want(posix.join(folder, file))
  }
  return files.size === 0 ? fail(`${url}index.json names no definition file`) : ok(files)
}

function indexNames(text: string): readonly string[] {
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed === 'string') return parsed.split('\n')
  return Array.isArray(parsed) ? parsed.filter((name) => typeof name === 'string') : []
}

function readOrNothing(path: string): string | undefined {
  try {
    // A pipe in its place would be waited for without end.
    return readBoundedFile(path, MAX_BYTES).toString()
  } catch {
    return undefined
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
