/**
 * Data directory: where a node keeps what it must not lose, and the names of the files in it.
 *
 *   ledger/                the log: tiles, entries and their tail; bodies beside them
 *   hearthbus.db           what follows from the log, to be looked up: tasks, tokens, approvals; and checkpoints
 *   gateway.lock           held while a gateway runs; the system lets go of it when the process dies
 *   gateway.json           where that gateway listens
 *   checkpoint.signed      the last checkpoint that was signed, kept apart from the database on purpose
 *   keys/node.key          the node's Ed25519 key, 0600
 *   keys/owner.token       the credential with which a person at this machine approves, 0600
 *   keys/console.link      a one-time sign-in link, while a gateway runs that was started without a terminal, 0600
 */
import { isAbsolute, join, resolve } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

export interface DataDirectory {
  readonly root: string
  readonly ledger: string
  readonly database: string
  readonly lock: string
  readonly gateway: string
  readonly lastSigned: string
  readonly keys: string
  readonly nodeKey: string
  readonly ownerToken: string
  readonly consoleLink: string
}

/** The directory is `given`, else `$HEARTHBUS_DATA`, else one in the XDG data directory. */
export function resolveDataRoot(given: string | undefined, environment: Environment, home: string): string {
  const chosen = given ?? environment['HEARTHBUS_DATA']
  if (chosen !== undefined && chosen !== '') return resolve(chosen)
  const xdg = environment['XDG_DATA_HOME']
  // The XDG base directory specification requires that a relative path is ignored.
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, '.local', 'share')
  return join(base, 'hearthbus')
}

/**
 * Where pins are kept (ledger/ledger-pin-store.ts), outside of every data directory: `given`, else a folder in the XDG
 * state directory.
 */
export function resolveLedgerPinFolder(given: string | undefined, environment: Environment, home: string): string {
  if (given !== undefined) return resolve(given)
  const xdg = environment['XDG_STATE_HOME']
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, '.local', 'state')
  return join(base, 'hearthbus', 'pins')
}

export function buildDataDirectoryPaths(root: string): DataDirectory {
  const keys = join(root, 'keys')
  return {
    root,
    ledger: join(root, 'ledger'),
    database: join(root, 'hearthbus.db'),
    lock: join(root, 'gateway.lock'),
    gateway: join(root, 'gateway.json'),
    lastSigned: join(root, 'checkpoint.signed'),
    keys,
    nodeKey: join(keys, 'node.key'),
    ownerToken: join(keys, 'owner.token'),
    consoleLink: join(keys, 'console.link'),
  }
}

/** The demo has its own records: trying out the product must not write into the real house's ledger. */
export function resolveDemoDataRoot(root: string): string {
  return join(root, 'demo')
}
