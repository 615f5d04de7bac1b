/**
 * Signing key store: the secret that signs the MQTT credentials of devices, 32 bytes of chance in a file of 0600.
 *
 * Without it nobody can make credentials; with another one every device over MQTT needs a boot to get new ones.
 */
import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { systemErrorCode } from '../../core/thrown.ts'

const KEY_BYTES = 32

/** Throws on a file that is no key: replacing it in silence would cut off every device. */
export function openSigningKey(path: string): Uint8Array {
  const known = readKey(path)
  if (known !== undefined) return known
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    // A link either makes the whole file appear or finds that somebody was faster.
    linkSync(draft, path)
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  const made = readKey(path)
  if (made === undefined) throw new Error(`${path} disappeared while it was made`)
  return made
}

function readKey(path: string): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
  if (!/^[0-9a-f]{64}$/.test(text)) throw new Error(`${path} is not a key of ${KEY_BYTES} bytes in hex`)
  return new Uint8Array(Buffer.from(text, 'hex'))
}
