/**
 * Admin operations on users. Passwords are stored and never returned.
 *
 * Pure, given the world it is handed.
 */
import type { JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import { readRecordBoolean, readRecordText } from '../../homeseer/wire/record-field.ts'
import {
  createBeforeAfterResult,
  createRefusedResult,
  replaceOrRemoveItem,
  type SimulatedAdminResult,
  type SimulatedAdminOperations,
} from './admin-result.ts'
import type { SimulatedWorld } from './simulated-world.ts'
import { USER_RIGHTS_CODES, type SimulatedUser } from './simulated-system.ts'
import { findOwnProperty } from './own-property.ts'

export const SIMULATED_USER_OPERATIONS: SimulatedAdminOperations = {
  'users.list': ({ system }) => ok({ users: system.users.map(shownUser) }),
  'users.create': createUser,
  'users.update': (world, args) => changeUser(world, args, (user) => withUserArgs(user, args)),
  'users.set_role': (world, args) =>
    findOwnProperty(USER_RIGHTS_CODES, readRecordText(args, 'role') ?? '') === undefined
      ? createRefusedResult('invalid', 'role is guest, normal or admin')
      : changeUser(world, args, (user) => withUserArgs(user, { role: readRecordText(args, 'role') ?? '' })),
  'users.delete': (world, args) =>
    changeUser(world, args, (user) =>
      readRecordBoolean(args, 'hardDelete') === true ? undefined : { ...user, enabled: false },
    ),
}

function createUser({ system }: SimulatedWorld, args: JsonObject): SimulatedAdminResult {
  const username = readRecordText(args, 'username') ?? ''
  if (username === '') return createRefusedResult('invalid', 'a user needs a name')
  if (system.users.some((user) => user.username === username))
    return createRefusedResult('conflict', `there is a user ${username}`)
  // 8 is a normal user.
  const blank = { id: username, username, password: '', displayName: '', email: '', rights: 8, enabled: true }
  const user = withUserArgs(blank, args)
  system.users = [...system.users, user]
  return createBeforeAfterResult(undefined, shownUser(user))
}

/** Members that are not given stay; an unknown role leaves the rights unchanged. */
function withUserArgs(user: SimulatedUser, args: JsonObject): SimulatedUser {
  return {
    ...user,
    displayName: readRecordText(args, 'displayName') ?? user.displayName,
    email: readRecordText(args, 'email') ?? user.email,
    password: readRecordText(args, 'password') ?? user.password,
    enabled: readRecordBoolean(args, 'enabled') ?? user.enabled,
    rights: findOwnProperty(USER_RIGHTS_CODES, readRecordText(args, 'role') ?? '') ?? user.rights,
  }
}

function changeUser(
  { system }: SimulatedWorld,
  args: JsonObject,
  change: (user: SimulatedUser) => SimulatedUser | undefined,
): SimulatedAdminResult {
  const before = system.users.find((user) => user.id === readRecordText(args, 'userId'))
  if (before === undefined) return createRefusedResult('not-found', 'no such user')
  const after = change(before)
  const rest = replaceOrRemoveItem(system.users, before, after)
  // An enabled admin must remain, who can enable the others again.
  if (!rest.some((user) => user.enabled && (user.rights & 2) !== 0))
    return createRefusedResult('conflict', 'the last administrator stays')
  system.users = rest
  return createBeforeAfterResult(shownUser(before), after && shownUser(after))
}

function shownUser({ id, username, displayName, email, enabled, rights }: SimulatedUser): JsonObject {
  const role = Object.entries(USER_RIGHTS_CODES).find(([, bits]) => bits === rights)?.[0] ?? 'normal'
  return { id, username, displayName, email, enabled, role, rights }
}
