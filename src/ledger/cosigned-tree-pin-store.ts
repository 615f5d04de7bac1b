/**
 * Cosigned tree pin: the newest tree of each log that a witness cosigned, kept outside of its data directory, so that a
 * person who can write only there cannot make it forget one and cosign a fork.
 *
 *   { "data": "/var/lib/hearthbus/witness", "trees": { "hearthbus.local/attic": { "size": 4711, "root": "…" } } }
 *
 *   row of the log durable ▸ pin durable ▸ the cosignature goes out
 *
 * So the rows are never behind the pin, whenever the process stops. Once there is such a file, nothing is cosigned that
 * it does not have.
 *
 * Reads and writes these files, one for each path of the directory (ledger-pin-store.ts).
 */
import { fromBase64, toBase64 } from '../core/bytes.ts'
import { isJsonObject, parseStrictJsonBytes } from '../core/json.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import { readFileIfPresent } from './atomic-file-store.ts'
import { isImpossiblePinPlace, writePinFile } from './ledger-pin-store.ts'
import { HASH_BYTES } from './tree.ts'
import type { CosignedTreeSizeAndRoot, CosignedTreeMemory } from './cosigned-checkpoint-store.ts'

const MAX_PIN_BYTES = 16_777_216

export class CosignedTreePin implements CosignedTreeMemory {
  readonly path: string
  readonly #paths: readonly string[]
  readonly #dataRoot: string
  readonly #pinned = new Map<string, CosignedTreeSizeAndRoot>()
  readonly #cosigned = new Map<string, CosignedTreeSizeAndRoot>()
  #isThere = false
  #trouble: string | undefined
  #turn: Promise<void> = Promise.resolve()
  /** A write that has not begun, and so will have everything that is in `#pinned` by then. */
  #next: Promise<void> | undefined

  private constructor(paths: readonly string[], dataRoot: string) {
    this.#paths = paths
    this.path = paths[0] ?? ''
    this.#dataRoot = dataRoot
  }

  /** Throws where one of the files cannot be read; the message is a sentence. */
  static async open(paths: readonly string[], dataRoot: string): Promise<CosignedTreePin> {
    const pin = new CosignedTreePin(paths, dataRoot)
    for (const path of paths) await pin.#read(path)
    return pin
  }

  async #read(path: string): Promise<void> {
    try {
      const trees = parsePinnedTrees(await readFileIfPresent(path, MAX_PIN_BYTES))
      this.#isThere ||= trees !== undefined
      for (const [log, tree] of trees ?? []) setLarger(this.#pinned, log, tree)
    } catch (error) {
      if (isImpossiblePinPlace(error)) return
      throw new Error(
        `${path}, which says what this witness cosigned last, cannot be read: ${readErrorMessage(error)}. Without it a directory that was set back could not be told from the newest one. Make it readable. If you know the directory to be the newest, remove that file.`,
        { cause: error },
      )
    }
  }

  /** The trees that the files have. */
  get pinned(): ReadonlyMap<string, CosignedTreeSizeAndRoot> {
    return this.#pinned
  }

  /** Why nothing outside of the directory remembers; `undefined` where a file does. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  newest(log: string): CosignedTreeSizeAndRoot | undefined {
    return this.#cosigned.get(log) ?? this.#pinned.get(log)
  }

  remember(log: string, tree: CosignedTreeSizeAndRoot): void {
    this.#cosigned.set(log, tree)
  }

  /** Rejects where the file cannot be written any more. A user who never had a place for it has only the rows. */
  makeDurable(log: string, tree: CosignedTreeSizeAndRoot): Promise<void> {
    setLarger(this.#pinned, log, tree)
    return this.write()
  }

  write(): Promise<void> {
    this.#next ??= this.#turn.then(() => {
      this.#next = undefined
      return this.#write()
    })
    this.#turn = this.#next.catch(() => undefined)
    return this.#next
  }

  async #write(): Promise<void> {
    const content = formatPinnedTrees(this.#dataRoot, this.#pinned)
    try {
      for (const path of this.#paths) await writePinFile(path, content)
      this.#isThere = true
      this.#trouble = undefined
    } catch (error) {
      this.#trouble = readErrorMessage(error)
      if (this.#isThere) throw error
    }
  }
}

function setLarger(trees: Map<string, CosignedTreeSizeAndRoot>, log: string, tree: CosignedTreeSizeAndRoot): void {
  if (tree.size >= (trees.get(log)?.size ?? 0)) trees.set(log, tree)
}

function formatPinnedTrees(dataRoot: string, pinned: ReadonlyMap<string, CosignedTreeSizeAndRoot>): string {
  const trees = Object.fromEntries([...pinned].map(([log, { size, root }]) => [log, { size, root: toBase64(root) }]))
  return `${JSON.stringify({ data: dataRoot, trees }, undefined, 2)}\n`
}

/** Throws on bytes that are not such a file; the message is a clause about "it". */
function parsePinnedTrees(
  bytes: Uint8Array | undefined,
): readonly (readonly [string, CosignedTreeSizeAndRoot])[] | undefined {
  if (bytes === undefined) return undefined
  const read = parseStrictJsonBytes(bytes)
  const trees = read.ok && isJsonObject(read.value) ? read.value['trees'] : undefined
  if (!isJsonObject(trees)) throw new TypeError('it does not hold trees')
  return Object.entries(trees).map(([log, value]) => {
    const { size, root: text } = isJsonObject(value) ? value : {}
    const root = typeof text === 'string' ? fromBase64(text) : undefined
    if (!Number.isSafeInteger(size) || root?.length !== HASH_BYTES)
      throw new TypeError('a tree in it has no size and root')
    return [log, { size: Number(size), root }]
  })
}
