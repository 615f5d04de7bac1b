/**
 * Hearthbus command: the command line that starts this program, for lines that a person copies.
 */
import { relative } from 'node:path'
import { resolveHearthbusCommand } from '../web/client-snippet.ts'

/** The shortest form from the user's working folder. */
export function resolveShortestHearthbusCommand(script: string, workingFolder: string): string {
  const command = resolveHearthbusCommand(script)
  const near = relative(workingFolder, command)
  return command === 'hearthbus' || near.startsWith('..') ? command : near
}
