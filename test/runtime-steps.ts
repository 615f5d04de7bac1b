/** Runtime steps: what tests of the runtime do again and again with whatever rig stands at the moment. */
import type { Rig } from './runtime-rig.ts'

type Row = Record<string, unknown>

interface Steps {
  /** A new task's id. */
  readonly create: (fields?: Record<string, string | string[]>) => Promise<string>
  readonly advance: (id: string, ...statuses: string[]) => Promise<void>
  readonly reflect: (id: string, type?: string) => Promise<Row>
  /** From INIT to DONE, by the book. */
  readonly finish: (id: string) => Promise<void>
  readonly think: (taskId: string, fields?: Record<string, string>) => Promise<Row>
  /** A new audit session's id. */
  readonly startSession: (taskId?: string) => Promise<string>
}

export function runtimeSteps(rig: () => Rig): Steps {
  const record = (type: string, taskId: string, fields: Record<string, string>): Promise<Row> =>
    rig().data('thought_record', { type, task_id: taskId, agent_id: 'ada', ...fields })
  const advance: Steps['advance'] = async (id, ...statuses) => {
    for (const status of statuses) await rig().data('task_update', { id, patch: { status } })
  }
  const reflect: Steps['reflect'] = (id, type = 'reflection') => record(type, id, { content: 'It holds pressure.' })
  return {
    create: async (fields = {}) =>
      String((await rig().data('task_create', { title: 'Bleed the radiators', ...fields }))['id']),
    advance,
    reflect,
    finish: async (id) => {
      await advance(id, 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY')
      await reflect(id)
      await advance(id, 'DONE')
    },
    think: (taskId, fields = {}) => record('plan', taskId, { content: 'Upstairs.', ...fields }),
    startSession: async (taskId) => {
      const task = taskId === undefined ? {} : { task_id: taskId }
      return String((await rig().data('audit_session_start', { intent: 'bleed the radiators', ...task }))['session_id'])
    },
  }
}
