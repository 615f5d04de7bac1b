/**
 * Key store: the node's Ed25519 key, a PKCS #8 PEM file that only its owner may read. It is made at the first start and
 * never replaced: everything that the node ever signed, and its id among other nodes, depends on it.
 *
 *   ed25519:R0Vu…   node id: base64url of the 32-byte public key
 */
import { createPrivateKey, generateKeyPairSync, hkdfSync, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { link, open, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { explainUnusableFile, readBoundedFile } from '../core/bounded-file-store.ts'
import { toBase64url, toUtf8 } from '../core/bytes.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readSystemErrorCode, readErrorMessage } from '../core/thrown-error.ts'
import { syncDirectory } from './atomic-file-store.ts'
import { exportEd25519PublicKeyBytes } from './note-key.ts'

export interface NodeKey {
  readonly privateKey: KeyObject
  /** The 32 bytes of the public key. */
  readonly publicKey: Uint8Array
  readonly id: string
}

export type NodeKeyFault =
  | { readonly kind: 'key-missing'; readonly path: string }
  | { readonly kind: 'key-readable-by-others'; readonly path: string; readonly mode: number }
  | { readonly kind: 'key-invalid'; readonly path: string; readonly reason: string }
  | { readonly kind: 'key-unreachable'; readonly path: string; readonly reason: string }

export async function loadOrCreateNodeKey(path: string): Promise<Result<NodeKey, NodeKeyFault>> {
  const loaded = await loadExistingNodeKey(path)
  if (loaded.ok || loaded.fault.kind !== 'key-missing') return loaded
  try {
    await createKey(path)
  } catch (error) {
    // Another process created it at the same moment: that key is used.
    if (readSystemErrorCode(error) !== 'EEXIST')
      return fail({ kind: 'key-unreachable', path, reason: readErrorMessage(error) })
  }
  return loadExistingNodeKey(path)
}

export async function loadExistingNodeKey(path: string): Promise<Result<NodeKey, NodeKeyFault>> {
  try {
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0) return fail({ kind: 'key-readable-by-others', path, mode: mode & 0o777 })
    return decodeKey(path, readBoundedFile(path, MAX_KEY_BYTES).toString())
  } catch (error) {
    if (readSystemErrorCode(error) === 'ENOENT') return fail({ kind: 'key-missing', path })
    return fail({ kind: 'key-unreachable', path, reason: explainUnusableFile(error) ?? readErrorMessage(error) })
  }
}

/** A PEM file of an Ed25519 key has some hundred bytes. */
const MAX_KEY_BYTES = 65_536

export function formatNodeId(publicKey: Uint8Array): string {
  return `ed25519:${toBase64url(publicKey)}`
}

/** 32 bytes for another purpose than signing, which reveal nothing about the key (RFC 5869). */
export function deriveNodeSecret({ privateKey }: Pick<NodeKey, 'privateKey'>, purpose: string): Uint8Array {
  const { d = '' } = privateKey.export({ format: 'jwk' })
  return new Uint8Array(hkdfSync('sha256', Buffer.from(d, 'base64url'), new Uint8Array(0), toUtf8(purpose), 32))
}

/** What is wrong and what to do, for a person. */
export function formatKeyFault(fault: NodeKeyFault): string {
  switch (fault.kind) {
    case 'key-missing':
      return `There is no key at ${fault.path}.`
    case 'key-readable-by-others':
      return `${fault.path} holds this node's private key, but others on this machine may read it (mode ${fault.mode.toString(8)}). Run: chmod 600 ${fault.path}`
    case 'key-invalid':
      return `${fault.path} does not hold an Ed25519 private key: ${fault.reason}. Restore the key from a backup; a new key would make everything this node signed the work of a stranger.`
    default:
      return `The key at ${fault.path} cannot be read or written: ${fault.reason}.`
  }
}

function decodeKey(path: string, pem: string): Result<NodeKey, NodeKeyFault> {
  try {
    const privateKey = createPrivateKey(pem)
    if (privateKey.asymmetricKeyType !== 'ed25519')
      return fail({ kind: 'key-invalid', path, reason: `it is a key of type ${privateKey.asymmetricKeyType}` })
    const publicKey = exportEd25519PublicKeyBytes(privateKey)
    return ok({ privateKey, publicKey, id: formatNodeId(publicKey) })
  } catch {
    // The library's message may quote the file.
    return fail({ kind: 'key-invalid', path, reason: 'it is not a PKCS #8 PEM file' })
  }
}

/** Never replaces an existing file: `link` refuses where `rename` would replace. */
async function createKey(path: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }))
    await file.sync()
  } finally {
    await file.close()
  }
  try {
    await link(temporary, path)
  } finally {
    await unlink(temporary)
  }
  await syncDirectory(dirname(path))
}
