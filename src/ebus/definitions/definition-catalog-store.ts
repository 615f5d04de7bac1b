/**
 * Definition catalog: the configured folder of definitions, downloaded first if the configuration has a URL.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { downloadAndPinDefinitions, loadPinOfUnchangedDefinitions } from './definition-download-client.ts'
import { DefinitionFolderReader } from './definition-folder-store.ts'

const FETCH_MS = 20_000
/** The folder for downloads, inside of the data directory. */
const FETCHED = 'ebus-definitions'
export const DEFINITION_LANGUAGE = 'en'

export interface OpenedDefinitionCatalog {
  readonly folder: DefinitionFolderReader
  /** The hash of downloaded files; `undefined` for a folder of the owner's. */
  readonly sha256: string | undefined
}

/** Returns a sentence when there is nothing to read from. */
export async function openDefinitionCatalog(
  definitions: string,
  { dataRoot, now }: { readonly dataRoot: string; readonly now: () => number },
): Promise<Result<OpenedDefinitionCatalog, string>> {
  if (!/^https:/i.test(definitions)) {
    const isFolder = statSync(definitions, { throwIfNoEntry: false })?.isDirectory() === true
    if (!isFolder) return fail(`ebus.definitions: ${definitions} is not a folder.`)
    return ok({ folder: new DefinitionFolderReader(definitions, DEFINITION_LANGUAGE), sha256: undefined })
  }
  const folder = join(dataRoot, FETCHED)
  const pinned = loadPinOfUnchangedDefinitions(folder, definitions)
  // Not downloaded again: files that change by themselves would change the behaviour of the house.
  if (!pinned.ok && pinned.fault.kind === 'changed')
    return fail(
      `ebus.definitions: ${join(folder, pinned.fault.file)} is not as it was fetched. Remove ${folder} to fetch everything again.`,
    )
  const pin = pinned.ok ? pinned : await downloadAndPinDefinitions({ url: definitions, folder, now, fetch: fetchText })
  return pin.ok
    ? ok({ folder: new DefinitionFolderReader(folder, DEFINITION_LANGUAGE), sha256: pin.value.sha256 })
    : fail(`ebus.definitions: ${definitions} could not be fetched (${pin.fault}).`)
}

async function fetchText(url: string): Promise<Response> {
  return fetch(url, { signal: AbortSignal.timeout(FETCH_MS), redirect: 'follow' })
}
