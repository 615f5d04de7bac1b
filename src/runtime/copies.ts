/**
 * Copies: the runtime's tables that repeat what it told the ledger.
 *
 * Reads through its stores.
 */
import type { Database } from '../core/database-store.ts'
import type { Copies } from '../ledger/copies.ts'
import { createRowAudit } from '../ledger/row-audit.ts'
import { createSessionAudit } from './proofs/session-audit.ts'
import { createSessionEraser } from './proofs/session-eraser.ts'
import { createSessionStore } from './proofs/session-store.ts'
import { auditedSkills, skillRows } from './skills/skill-audit.ts'
import { createSkillStore } from './skills/skill-store.ts'
import { createTaskAudit } from './tasks/task-audit.ts'
import { createTaskEraser } from './tasks/task-eraser.ts'
import { createTaskStore } from './tasks/task-store.ts'
import { createAgentKeyAudit } from './trail/agent-key-audit.ts'
import { createThoughtAudit } from './trail/thought-audit.ts'
import { createThoughtStore } from './trail/thought-store.ts'

/** The tables need not be there before they are asked for: what is missing then was dropped. */
export function runtimeCopies({ sql }: Pick<Database, 'sql'>): readonly Copies[] {
  return [
    {
      audit: (leaves, news) => createTaskAudit({ tasks: createTaskStore(sql), leaves, news }),
      eraser: (entry, leaves) => createTaskEraser(entry, { leaves, tasks: () => createTaskStore(sql) }),
    },
    { audit: (leaves, news) => createThoughtAudit({ thoughts: createThoughtStore(sql), leaves, news }) },
    { audit: (leaves, news) => createAgentKeyAudit(createThoughtStore(sql), { leaves, news }) },
    {
      audit: (leaves, news) => createRowAudit(auditedSkills, { rows: skillRows(createSkillStore(sql)), leaves, news }),
    },
    {
      audit: (leaves, news) => createSessionAudit({ sessions: createSessionStore(sql), leaves, news }),
      eraser: (entry) => createSessionEraser(entry, () => createSessionStore(sql)),
    },
  ]
}
