/**
 * Self: how this very program is started, for lines that others copy.
 */
import { relative } from 'node:path'
import { resolveOwnCommand } from '../web/connect.ts'

/** As short as it can be from where the person is. */
export function shortenOwnCommand(script: string, workingFolder: string): string {
  const command = resolveOwnCommand(script)
  const near = relative(workingFolder, command)
  return command === 'hearthbus' || near.startsWith('..') ? command : near
}
