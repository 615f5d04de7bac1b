/**
 * Self: how this very program is started, for lines that others copy.
 */
import { relative } from 'node:path'
import { selfCommand } from '../web/connect.ts'

/** As short as it can be from where the person is. */
export function shortCommand(script: string, workingFolder: string): string {
  const command = selfCommand(script)
  const near = relative(workingFolder, command)
  return command === 'hearthbus' || near.startsWith('..') ? command : near
}
