/**
 * Operations: the 29 acts of administration of the contract.
 *
 * Each says how it is undone where an operation exists that really brings back what was; where none does, no rollback
 * is offered.
 *
 * Pure.
 */
import { CONTENT_OPERATIONS } from './content-operations.ts'
import { MACHINE_OPERATIONS } from './machine-operations.ts'
import type { Operation } from './operation.ts'
import { USER_OPERATIONS } from './user-operations.ts'

export const OPERATIONS: readonly Operation[] = [...USER_OPERATIONS, ...MACHINE_OPERATIONS, ...CONTENT_OPERATIONS]
