/**
 * User operations: the administration operations on HomeSeer's users.
 *
 * A user deleted for good and a password replaced cannot be brought back, so no rollback is offered for them.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { toTextOrEmpty } from '../tools/json-text.ts'
import type { AdminOperation } from './admin-operation.ts'
import { createUndoByFormerValues, createUndoOfCreation } from './admin-undo.ts'

const word = z.string().min(1).max(200)
const maybe = word.exactOptional()
/** May be empty, so that an empty former value can be restored. */
const words = z.string().max(200).exactOptional()
/** HomeSeer identifies users by number; adapters may use names. */
const userId = z.union([z.int().min(0), word])
/** `writeOnly` hides it in the audit of the call as well. */
const password = z.string().min(1).max(200).exactOptional().meta({ writeOnly: true })

/** `name` is the argument that identifies the user. */
const users = (name: string) => ({
  domain: 'users' as const,
  target: (args: JsonObject) => `user:${toTextOrEmpty(args[name])}`,
  touched: (args: JsonObject) => ({ userIds: [toTextOrEmpty(args[name])] }),
})

export const ADMIN_USER_OPERATIONS: readonly AdminOperation[] = [
  {
    ...users('username'),
    op: 'users.create',
    title: 'Create a user',
    description: 'Creates a user of HomeSeer.',
    shape: {
      username: word,
      password,
      displayName: words,
      email: words,
      role: maybe.describe('guest, normal or admin.'),
      enabled: z.boolean().default(true),
    },
    secrets: ['password'],
    // Deletes only by the id that the adapter returned; by name, another user might be deleted.
    undo: ({ after }) =>
      createUndoOfCreation(after, 'id', (id) => ({ op: 'users.delete', args: { userId: id, hardDelete: true } })),
  },
  {
    ...users('userId'),
    op: 'users.update',
    title: 'Change a user',
    description: 'Changes a user of HomeSeer.',
    shape: { userId, displayName: words, email: words, password, enabled: z.boolean().exactOptional(), role: maybe },
    secrets: ['password'],
    undo: ({ args, before }) =>
      args['password'] === undefined ? createUndoByFormerValues('users.update', 'userId', { args, before }) : undefined,
  },
  {
    ...users('userId'),
    op: 'users.delete',
    title: 'Delete a user',
    description: 'Switches a user of HomeSeer off or, with `hardDelete`, removes it for good.',
    shape: { userId, hardDelete: z.boolean().default(false) },
    undo: ({ args, before }) =>
      args['hardDelete'] === false && before?.['enabled'] === true
        ? { op: 'users.update', args: { userId: args['userId'] ?? '', enabled: true } }
        : undefined,
  },
  {
    ...users('userId'),
    op: 'users.set_role',
    title: 'Set the role of a user',
    description: 'Sets what a user of HomeSeer may do.',
    shape: { userId, role: word.describe('guest, normal or admin.') },
    undo: ({ args, before }) =>
      typeof before?.['role'] === 'string'
        ? { op: 'users.set_role', args: { userId: args['userId'] ?? '', role: before['role'] } }
        : undefined,
  },
]
