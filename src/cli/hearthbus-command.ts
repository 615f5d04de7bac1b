/**
 * Self: how this very program is started, for lines that others copy.
 */
import { relative } from 'node:path'
import { resolveHearthbusCommand } from '../web/client-snippet.ts'

/** As short as it can be from where the person is. */
export function shortenHearthbusCommand(script: string, workingFolder: string): string {
  const command = resolveHearthbusCommand(script)
  const near = relative(workingFolder, command)
  return command === 'hearthbus' || near.startsWith('..') ? command : near
}
