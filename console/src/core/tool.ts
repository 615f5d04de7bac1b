/** Tool: one tool with its schema. The list of all of them has none: schemas are most of it. */
import type { ToolView } from '../../../src/web/views.ts'
import { get } from './api.ts'
import { useLoad } from './load.ts'
import type { Loaded } from './load.ts'

export function useTool(name: string): Loaded<ToolView> {
  return useLoad(() => get<ToolView>(`/api/tools/${encodeURIComponent(name)}`), [name])
}
