/**
 * Login: finds the user of a request by its Authorization header or query.
 */
import type { SimulatedUser, SimulatedHomeseerSystem } from './simulated-system.ts'

export interface SimulatedLoginRequest {
  readonly authorization: string | undefined
  readonly user: string | undefined
  readonly password: string | undefined
}

/** A client in the own subnet while no password is required. */
const LOCAL: SimulatedUser = {
  id: 'local',
  username: 'local',
  password: '',
  displayName: 'Local user',
  email: '',
  // Admin and local.
  rights: 6,
  enabled: true,
}

const GUEST = 1

/** `undefined` is a refused login. A wrong login is refused even where none is needed. */
export function identifySimulatedUser(
  system: SimulatedHomeseerSystem,
  claim: SimulatedLoginRequest,
): SimulatedUser | undefined {
  const given = basicPair(claim.authorization) ?? queryPair(claim)
  if (given === undefined) return system.passwordRequired ? undefined : LOCAL
  return findSimulatedUserByPassword(system, given.user, given.password)
}

export function findSimulatedUserByPassword(
  system: SimulatedHomeseerSystem,
  name: string,
  password: string,
): SimulatedUser | undefined {
  return system.users.find((user) => user.enabled && user.username === name && user.password === password)
}

/** Guests may only read. */
export function maySimulatedUserControl(user: SimulatedUser): boolean {
  return user.rights !== GUEST
}

/** Only admins may run scripts and backups. */
export function hasSimulatedAdminRight(user: SimulatedUser): boolean {
  return (user.rights & 2) !== 0
}

function basicPair(header: string | undefined): { readonly user: string; readonly password: string } | undefined {
  const encoded = /^Basic\s+([A-Za-z0-9+/=]+)$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return undefined
  const [user = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  return { user, password: rest.join(':') }
}

function queryPair({
  user,
  password,
}: SimulatedLoginRequest): { readonly user: string; readonly password: string } | undefined {
  return user === undefined ? undefined : { user, password: password ?? '' }
}
