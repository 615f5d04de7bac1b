/** Planted task: a task under an id that a test chooses, as an entry of the ledger. */
import type { Rig } from './runtime-rig.ts'

export async function plantTasks({ database, ledger }: Rig, ...ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await database.commit(() =>
      ledger.appendIn(
        { kind: 'task.created', task_id: id, status: 'INIT', version: 1, fields: ['title'], principal: 'tester' },
        { title: `Task ${id}` },
      ),
    )
}
