/** Mesh files: where a data directory keeps what belongs to the mesh. Pure. */
import { join } from 'node:path'
import type { DataDirectory } from '../config/data-directory.ts'

export function locateMeshFiles({ root, keys }: DataDirectory): {
  readonly database: string
  readonly rootKey: string
  readonly witness: string
} {
  return {
    database: join(root, 'mesh.db'),
    witness: join(root, 'mesh-witness.db'),
    rootKey: join(keys, 'community.key'),
  }
}
