/**
 * Record file: records of equal length, each at the position given by its number, in a file that is built again when it
 * is lost. It is never synced: after a power cut a record may be missing or wrong, so its users verify what they read.
 */
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { requireRegularFile } from '../core/bounded-file-store.ts'

export interface FixedSizeRecordFileOptions {
  readonly path: string
  readonly recordBytes: number
  readonly isWritable: boolean
}

export class FixedSizeRecordFileStore {
  readonly #options: FixedSizeRecordFileOptions
  #file: number | undefined

  constructor(options: FixedSizeRecordFileOptions) {
    this.#options = options
  }

  /** The record; `undefined` where nothing is stored. */
  read(index: number): Uint8Array | undefined {
    const { recordBytes } = this.#options
    const record = new Uint8Array(recordBytes)
    try {
      return readSync(this.#open(), record, 0, recordBytes, index * recordBytes) === recordBytes ? record : undefined
    } catch {
      return undefined
    }
  }

  write(index: number, record: Uint8Array): void {
    const { recordBytes } = this.#options
    writeSync(this.#open(), record, 0, recordBytes, index * recordBytes)
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #open(): number {
    return (this.#file ??= this.#openOrCreate())
  }

  #openOrCreate(): number {
    const { path, isWritable } = this.#options
    requireRegularFile(path)
    if (!isWritable) return openSync(path, 'r')
    // O_NOFOLLOW: a planted link would direct the writes into another file.
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  }
}
