"""Whether a clause states something lasting: who says it of whom, with what kind of verb.

A clause counts by its form, not by its words: a subject that is known (I, we, my sister, our server), and a verb or
complement of a class that lasts. The classes are in `data/english.toml` and `data/chinese.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memctl.core.text.language import has_chinese
from memctl.extraction import words
from memctl.extraction.words import CHINESE, ENGLISH

STATEMENT, DECISION, HABIT = "statement", "decision", "habit"
"""The rules by which a clause is found to state something."""

_ADV = r"(?:{adverb} ){0,3}+"
_WHEN = r"(?:(?:{frequency}|{future}|(?:after|before|since|last|this (?:morning|week|month|year|summer|winter|spring|autumn)|next|yesterday|tomorrow|tonight|on|in the|in [a-z]+ (?:of|with)|as of|from)\b[^,]{0,40}?),? )?"
_NOT = r"(?:don't|do not|never|can't|cannot|won't|mustn't|must not|haven't|have not|no longer|not)"
_SELF = rf"^{_WHEN}(?:(?:my|our) {{kin}}(?: (?-i:[A-Z])[\w'-]+)? and )?{{i}}"
_HAVE = r"(?:'ve|'d| have| had)?"
_BE = r"(?:'m|'re| am| are)"
_SOME = r"(?:(?:both|all|one|two|three|most|some|half|each)(?: of)? )?"
_NAMED = r"(?: (?-i:[A-Z])[\w'-]+)*"
_KIN = rf"^{_WHEN}(?:{_SOME}(?:my|our) (?:\w+ ){{0,2}}?{{kin}}{_NAMED}|{{named_kin}}|{{person}})"
_OURS = rf"^{_WHEN}{_SOME}(?:my|our) (?!(?:[\w'-]+ ){{0,3}}{{task_noun}}\b)"
_NOUN = r"(?:[\w'./&-]+ ){0,4}?[\w'./&-]+?"
_NO_OBJECT = r"(?! (?:\w+ )?{pointing}\b)"

_ENGLISH: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    # I and we: decisions, states, changes, possessions, habits
    (
        _SELF,
        (
            (DECISION, rf"{_HAVE} {_ADV}{{decide}}\b(?! (?:to|on) {{trifle}}\b).{{4,}}"),
            (DECISION, rf"(?:'re| are) {_ADV}going with .{{3,}}"),
            (STATEMENT, rf"{_BE} (?:usually|normally|always|generally|typically|rarely|never|often) (?!{{passing_state}}\b).{{3,}}"),
            (STATEMENT, rf" {_ADV}(?!{{passing_verb}}\b)(?!{{irregular_past}}\b)(?!\w+ed\b)[a-z]+ .*\b{{frequency}}\b"),
            (STATEMENT, rf"{_HAVE} {_ADV}{{change}}\b(?! {{pointing}}\b)(?! to (?!\w+ (?:for|with|at)\b)).{{4,}}"),
            (STATEMENT, rf"{_HAVE} (?:also )?had .*\b{{health}}\b"),
            (STATEMENT, rf" {_ADV}{{intransitive}}$"),
            (STATEMENT, r" used to .{4,}\b(?:but|until|before|now)\b"),
            (STATEMENT, rf"{_BE} {_ADV}(?!{{passing_state}}\b)(?:not )?{_ADV}{{lasting_state}}(?![\w-])"),
            (STATEMENT, rf"{_BE} {_ADV}(?:not )?(?-i:[A-Z][a-z]{{3,}})(?= |$)(?! (?:and|but)$)"),
            (STATEMENT, rf"{_BE} {_ADV}(?:not |no longer )?(?:on|with|off|under|at (?=(?-i:[A-Z])|uni|school|college)) (?!{{passing_place}}\b).{{3,}}"),
            (STATEMENT, rf"{_BE} not (?:allowed|able|supposed|meant) to {{ability}}\b{_NO_OBJECT}"),
            (STATEMENT, rf"{_BE} {_ADV}{{lasting_progressive}} .{{2,}}"),
            (STATEMENT, rf"(?:{_BE}(?: going| planning| hoping)?| plan| intend) to {{life_plan}}\b.{{3,}}"),
            (STATEMENT, rf"{_BE} {_ADV}(?!trying|looking|thinking|wondering|hoping|struggling|considering|feeling|writing|asking)(?:{{present_plan}}|\w+ing)\b.*\b{{future}}\b"),
            (STATEMENT, rf"{_HAVE} {_ADV}(?:have|has|'ve got|got|gotten|own|owns) (?!(?:[\w'-]+ ){{0,3}}{{passing_thing}}\b).{{3,}}"),
            (STATEMENT, r"'ve (?:only |also |both )?got (?!(?:[\w'-]+ ){0,3}{passing_thing}\b).{3,}"),
            (STATEMENT, r"(?: have|'ve) never (?!.*\b{pointing}$)[a-z]+.{3,}"),
            (STATEMENT, r"(?: have|'ve) (?:had|lived|worked|known|owned|played|used|kept|studied|taken|been) (?!trying|having|thinking|wondering|told|getting|looking|considering|meaning|struggling|feeling|asked).*\b(?:since|for (?:\d|\w+ (?:years|months))|all my life)\b"),
            (STATEMENT, rf" (?:can't|cannot|can not|mustn't|must not|may not|couldn't) {_ADV}{{ability}}\b{_NO_OBJECT}"),
            (STATEMENT, rf" {_ADV}(?:don't|do not|never|no longer) {_ADV}(?!{{passing_verb}}\b|have (?:[\w'-]+ ){{0,3}}{{passing_thing}}\b)[a-z]+{_NO_OBJECT}(?: .+|$)"),
            (STATEMENT, rf" {_ADV}(?!{{passing_verb}}\b)(?!{{modal}}\b)(?!{{irregular_past}}\b)(?!\w+ed\b)(?!{_NOT}\b)(?!have\b|has\b|had\b)[a-z]+(?! (?:[\w'-]+ )?{{pointing}}\b)(?!.*\b(?:you|your|it|there$)\b)(?!.*\b(?:this|these|those)\b(?! {{ours}}\b)) .{{2,}}"),
        ),
    ),
    # Somebody near
    (
        _KIN,
        (
            (STATEMENT, rf"(?:'s| is| are) {_ADV}(?!{{passing_state}}\b)(?!\w+ing\b).{{2,}}"),
            (STATEMENT, rf"(?:'s| is| are) {_ADV}(?:{{lasting_progressive}}|(?:\w+ing|off|away|back|home|due)\b.*\b(?:{{future}}|{{frequency}}))\b"),
            (STATEMENT, r" (?:was|were) (?:an? |born |raised |adopted |\w+ers?\b).*"),
            (STATEMENT, r"(?: has|'s got| have|'ve got) (?!(?:[\w'-]+ ){0,2}{passing_thing}\b).{3,}"),
            (STATEMENT, rf"(?:'s| has| have| just)? {_ADV}{{change}}\b"),
            (STATEMENT, rf" {_ADV}(?:can't|cannot|doesn't|does not|don't|won't|never|no longer) (?!{{report_verb}}\b)[a-z]+{_NO_OBJECT}.*"),
            (STATEMENT, rf" {_ADV}(?!{{report_verb}}\b)(?!(?:is|was|has|does|goes)\b)(?:[a-z]+[a-z]s|{{habitual}})\b(?! (?:\w+ )?{{pointing}}\b).{{2,}}"),
        ),
    ),
    # Things of one's own, each after its name
    (
        _OURS,
        (
            (STATEMENT, rf"{_NOUN}(?:'s| is| are) {_ADV}(?!{{passing_state}}\b)(?!\w+ing\b).{{2,}}"),
            (STATEMENT, rf"{_NOUN} {_ADV}(?:has|have|doesn't have|don't have) (?!(?:[\w'-]+ ){{0,3}}{{passing_thing}}\b).{{3,}}"),
            (STATEMENT, rf"{_NOUN} {_ADV}(?!{{failing}}s?\b)(?:{{habitual}}s?|{{habitual}}es)\b(?! (?:\w+ )?{{pointing}}\b).{{2,}}"),
            (STATEMENT, rf"{_NOUN}(?: has| have|'s) (?:been )?(?:now )?{{change}}\b"),
        ),
    ),
    # No subject of one's own
    (
        "",
        (
            (DECISION, r"(?:the|our|my|whole) (?:[\w-]+ ){0,2}?{group}(?: has| have)? " + _ADV + r"{decide}\b(?! {pointing}\b).{4,}"),
            (DECISION, r"(?:(?:the|our|my) )?(?:final (?:call|decision|verdict|choice|answer)|decision|verdict|agreement) is (?!yours|to be|hard|up\b).{4,}"),
            (STATEMENT, r"(?-i:(?=[A-Z]))(?:just |recently |finally )?{change} (?:my |to (?=(?-i:[A-Z]))|as an? |from (?=(?-i:[A-Z]))).{3,}"),
            (STATEMENT, r"(?:the )?(?:\w+ ){0,3}(?:to (?:reach|contact|call|find) )(?:me|us) (?:is|are) .{2,}"),
            (HABIT, r"(?:the|all) (?:[\w-]+ ){0,3}?{system}\b.*\b{frequency}\b"),
            (STATEMENT, r"(?:the|all) (?:[\w-]+ ){0,3}?{system} (?:is|are|runs?|lives?|sits?) (?:on|in|at|with|behind|hosted|built|written|deployed)\b.{3,}"),
            (HABIT, r"(?!.*\byour\b)(?:\w+ ){0,2}{occasion} (?:is|are|[a-z]+s)\b.*\b{frequency}\b"),
            (STATEMENT, r"(?!{pointing}\b|{i}\b|the\b|your\b|{task_noun}\b|he\b|she\b|they\b|no\b)[\w' -]{2,40} (?:is|are|isn't|aren't|don't|doesn't|works?) .*(?:for|with) (?:me|us)$"),
            (STATEMENT, r"(?:the|my|our) (?:doctor|doc|gp|consultant|dentist|specialist|vet)s?(?: has| have|'s)? (?:put|prescribed|started|diagnosed|advised|banned|referred|told) (?:me|us|him|her|my \w+)\b.{3,}"),
            (STATEMENT, r"(?!{pointing}\b|(?:that|where|who|what)'s\b|here's\b)[\w' ]{0,40}(?: is| are|'s|'re) (?:my|our) (?:\w+ ){0,2}?{kin}\b"),
            (STATEMENT, r"you (?:can|may|could) (?:reach|contact|find|call|email|text|ring) (?:me|us) (?:at|on|via|by|through) .{3,}"),
            (STATEMENT, r"(?:the )?(?:[\w'-]+ ){0,3}{occasion}\b.*\b{scheduled}\b.*\b{future}\b"),
            (HABIT, r"{frequency},? (?:the|our|everyone|everybody|all of us) .{4,}"),
            (STATEMENT, r"there(?:'s| is| are) .{2,30}\b(?:of us|in (?:my|our) \w+|at (?:my|our) \w+|on (?:my|our) \w+)\b"),
        ),
    ),
)  # fmt: skip

_WO = r"^(?:{with}|{self})"
_AD = r"(?:{adverb}){0,4}"
_JIA = r"^(?:(?:我们|我|咱|俺)(?:们)?(?:家里?)?的?{kin}(?:[A-Z][a-z]+|[小阿老][\u4e00-\u9fff])?|{named_kin}|{person})"
_WU = r"^(?:(?:我们|我|咱|{group})的?|{kin}的)(?!{task_noun}|{passing_verb}|{stative}|{adverb}|好|以前|曾|应|可能|[对和跟把用从给]|昨|今天|明|刚|现在|这|那)[^，。是在叫有]{1,10}?"
_LATELY = r"^(?:去年|前年|上个?月|上周|今年|年初|年底|小时候|从小|[\d一二两三四五六七八九十]{1,4}(?:年|月|岁|个月前)[^，。]{0,3})?"

_CHINESE: tuple[tuple[str, str], ...] = (
    (DECISION, r"^(?=.{5})(?!.*{undecided})(?:{opening})*(?:{with}|{self}|{group}|我的?{kin}|大家|老板|客户|领导)[^，。]{0,14}?(?<!的){decide}.*"),
    (DECISION, r"^(?=.{5})(?!.*{undecided})(?:{opening})*{decide}.*"),
    (STATEMENT, rf"{_WO}{_AD}不在(?!家|乎|意|这|线|状态).{{1,10}}了$"),
    (STATEMENT, rf"(?:{_WO}|{_JIA}|^{{group}}|^(?!你|这|那|他|她|它|请|帮)(?=[^，。]{{2,16}}(?:换|改)成))(?!.*(?:应该|可能|打算|准备|考虑|建议|要不))[^，。不没想要]{{0,16}}?{{change}}.*"),
    (STATEMENT, rf"{_LATELY}(?:{_WO})?{_AD}(?:做|动|查出|确诊|得|摘|切|摔|断|骨折|装|生|患|植)(?:了|过).*{{health}}.*"),
    (STATEMENT, rf"{_WO}{_AD}是(?!{{be_not}}|[^，。]{{1,2}}了$)(?!.*[到来去做写看弄买]的$).{{2,}}"),
    (STATEMENT, rf"{_WO}{_AD}(?:有|没有|没(?=[车房孩结娃驾]))(?!{{passing_thing}}).{{1,}}"),
    (STATEMENT, rf"{_WO}(?:(?!想|要|不|没|以前|曾)[^，。]){{0,6}}?在(?!想|看|等|找|忙|路上|这|那|改|弄|考虑|纠结)[^，。]{{1,14}}?(?:工作|上班|做|当|读|上学|上大学|念|开|住|教|实习|带|干|任|跑|卖|搞|服役|创业|租|养|待了|工地).*"),
    (STATEMENT, rf"{_WO}{_AD}(?:今年)?(?:已经|都|快|刚满?)?[\d一二两三四五六七八九十百]+(?:岁|cm|厘米|斤|公斤|kg|米)"),
    (STATEMENT, rf"{_WO}(?:的)?(?:{{health}})(?!.*(?:怎|什么|这|那)).{{1,}}"),
    (STATEMENT, r"^(?:已经|终于|都|又|刚|后来|早就)?{change}(?!.*(?:我想|这|那|它)).*了$"),
    (STATEMENT, r"^(?!.*(?:你|应该|可能|想|要不|{no_habit}))[^，。]{0,14}?(?:{date}[^，。]{0,12}?{occasion}|{occasion}(?:是|定在|在|改到|改成|为)[^，。]{0,8}?{date}).*"),
    (STATEMENT, r"^(?:医生|大夫)(?:不?让|叫|要求|建议|给)我.{2,}"),
    (STATEMENT, rf"{_WO}{_AD}在[^，。]{{1,6}}(?:期|假|职|岗|籍|读|校|编)$"),
    (STATEMENT, rf"{_WO}(?:{{adverb}})?一[^，。一下次]{{1,6}}就(?!好|行|是|可以).{{2,}}"),
    (STATEMENT, rf"{_WO}{_AD}对[^，。不没]{{1,10}}(?:过敏|不耐受|敏感)"),
    (HABIT, r"^(?:{self}|{group})(?:们)?[^，。的]{0,6}?{habit}(?!.*{no_habit})(?!了).{2,}"),
    (HABIT, r"^(?:周末|早上|晚上|白天|中午|下班|饭后|睡前)?{habit}(?!.*{no_habit})(?!了|需|.*都会).*(?:{self}|必须|都|要|得).{2,}"),
    (STATEMENT, rf"(?:{_WO}|^(?!这|那|你|他|她|它)(?=[^，。]{{2,8}}的东西))[^，。]{{0,10}}?{_AD}(?!不(?:知|确定|明白|懂|想|理解)){{unable}}.*"),
    (STATEMENT, rf"{_WO}{_AD}(?!{{passing_verb}})(?!.{{1,3}}了$)(?!.*(?:[它你]|{{no_habit}})){{stative}}(?!一下|一遍|一次|的时候|完|这个|那个|你|它).*"),
    (STATEMENT, r"^(?:就|只有)?(?:我们?|咱们?)[^，。]{0,6}?(?:[\d一二两三四五六七八九十百]+[来多几]?(?:个人|口人|人)|一个(?:做|搞|管|人|男|女)).*"),
    (HABIT, r"^[^，。你他她这那我]{1,8}{habit}[^，。]{0,8}{occasion}.*"),
    (STATEMENT, rf"{_WO}的?{{trait}}[^，。]{{0,4}}(?:好|差|弱|强|不行|还行|一般|烂|低|高|近视|\d).*"),
    (STATEMENT, r"^(?:学|做|干|当|教|练|待|住|写|画|弹|打|开)(?:过|了)[^，。]{0,2}[\d一二两三四五六七八九十]+(?:多)?年.*"),
    (STATEMENT, rf"{_JIA}(?!{{report_verb}})(?!的)(?!{_AD}[\u4e00-\u9fff]{{1,2}}了(?!$|[\d一二两三四五六七八九十]|.*{{health}}))(?!.{{1,4}}了(?:我|一).*)(?!{_AD}{{report_verb}}).{{2,}}"),
    (STATEMENT, rf"{_WU}(?:都)?(?:是|在|叫|为|用|有|没有?|只|装了|走|尾号|连不|住|靠|开头|需要|支持|允许|禁止|规定|要求|跑|不让|不准|不许|不能|让|朝|面|离|挨)(?!{{judged}}).{{1,}}"),
    (STATEMENT, r"^(?:{group}|[^，。]{0,6}(?:数据库|仓库|服务器|分支|后端|前端|发版|内网|NAS|电脑))[^，。]{0,6}?(?:是|在|叫|用|有|只能?|都|走|连不|每|装了)(?!{judged}).{2,}"),
    (STATEMENT, r"^(?:有事|有?急事|白天|晚上|平时|上班|周末|联系我|找我)[^，。]{0,4}(?:找我|联系我|打我?|发|用)(?!.*[吗呢])[^，。]{2,}"),
)  # fmt: skip

_ASK = r"^(?:{please}[ ,]+){0,6}"
_BIDS = r"^(?!(?:i|we|he|she|they|it|you)\b(?! (?:want|need|would like|'d like) you))(?!.*\b(?:do|did|can't|cannot|couldn't|didn't|don't) (?:you |i |we )?(?:even |still |really )?(?:remember|recall|note|save|store|record|log)\b)"
_REMEMBER_EN = (
    r"^(?:(?:{please}[ ,]+){0,6}{keep}(?: {kept_object}){0,4}(?:\s*[:,–—]\s*| that\s+(?!(?:was|is|one|time|day|as|for|to|in|on|when|much|many)\b))){1,2}(?P<x>.{4,})",
    rf"{_ASK}{{keep}} (?=(?:my|our|i|i'm|we|we're|the(?= (?-i:[a-z]))|dr|mr|mrs|ms|never|always|{{named_kin}})\b\.?\s)(?!the (?:time|day|one|way|old|good|other)\b)(?=.*\s(?:is|are|am|has|have|can|can't|must|never|only|works?|lives?|needs?|wants?|likes?|hates?|prefers?|starts?|ends?|opens?|closes?|don't|doesn't|will)\b)(?P<x>.{{4,}})",
    r"^(?P<x>.{4,}?)(?:[,;–—]|\s-)\s*(?:{please} ){0,4}{keep}(?: {kept_object}){0,3}$",
    rf"{_BIDS}(?:[\w'-]+[ ,]+){{0,8}}?{{bid}}(?: {{kept_object}}){{0,4}}(?: about (?:me|us))?(?:\s*[:,]| that|(?= (?:i|i'm|i've|my|we|we've|we're|our|he's|she's|{{named_kin}})\b))\s+(?P<x>.{{4,}})",
)
_LEAD = r"^(?:[^，,：:。]{1,10}[，,：:])?"
_REMEMBER_ZH = (
    rf"{_LEAD}(?:{{please}})*{{keep}}(?:{{kept_object}})*[：:，,\s～~]*(?!上次|之前|什么|怎么|了$|吧|带|买|去|给|要|多|这么|吗)(?P<x>.{{3,}})",
    r"^(?P<x>.{3,}?)[，,]\s*(?:{please})*{keep}(?:{kept_object})*$",
    r"^(?:{please})*把(?P<x>.{3,}?)(?:这件事|这事|这一?点|这个)?{keep}(?:{kept_object})*$",
    r"^(?!我(?:也|都|还|不|没|已经|一直)*记)(?!.*[吗？?])[^，。]{0,10}?(?:记住|牢记|记得|记一笔)(?:一点|一件事|一下)?[：:，,\s]*(?=我|咱|老[\u4e00-\u9fff]|小(?!时候)[\u4e00-\u9fff]|他|她|家里|公司|以后)(?P<x>.{3,})",
)
_POINTING_EN = r"^(?:{please}[ ,]+){0,6}{keep}(?: {kept_object}| both| all of (?:this|that)){0,4}(?: (?:when|whenever|next time)\b.*)?[\s.!:,]*$"
_POINTING_ZH = r"^(?:{please})*{keep}(?:{kept_object})*[。！!.：:，\s]*$"

_FOR = r"(?:(?:when|whenever|if|for|in|every time|each time|before|after|as a rule|on|with) [^,]{2,60}, )?"
_ORDER = rf"^(?:{{please}}[ ,]+){{0,4}}{_FOR}(?:{{please}}[ ,]+){{0,3}}"
_NOT_ORDER = r"(?!(?:been|here|there|had|mind|again|knew|thought|happy|a|an|the|my|wanted|did|was|is|good|great|nice|fun|better|heard|seen|in|on|at|to|i|we|you|have i|having|one|too|so|once|not|never|used|loved|liked|hated|felt|give up|fear|fails?|gets?|be afraid|be yourself)\b)(?!\w+ed\b)"
_STOP = r"(?:don't|do not|stop|avoid|refrain from|quit|never|no more)(?: ever)?"
_IDLE = r"(?!(?:worry|worrying|get me wrong|think|know|see|like|want|need|mind|care|forget|remember|panic|lie|let|give up|be (?:afraid|silly|sorry|shy|so|too)|bother|hesitate|feel|even|really|you)\b)"
_INSTRUCTION_EN = (
    rf"{_ORDER}(?:{{lasting_first}})\b,? (?:please )?(?:always |never |don't |do not )?(?:no \w+|{_NOT_ORDER}(?:{{behave}}\b|(?<=never )[a-z]+ |(?<=always )[a-z]+ )(?!{{i}}\b).+)",
    rf"^(?!{{explained}}\b){_ORDER}{{behave}}\b(?!.*\b(?:what|how|why)\b).*\b{{lasting}}\b.*",
    rf"^(?=.*\b{{lasting_ban}}\b){_ORDER}{_STOP} (?:{{behave}}|\w+ing)\b.*",
    r"^(?:{please}[ ,]+){0,4}(?:(?:for|in|on) (?:all|any|every|future)\b[^,]{2,40}|when (?:i|you) [^,]{3,60}|if i (?:ask|say|send|paste|write|tell|mention)\b[^,]{2,60}|whenever [^,]{3,60}), (?:please )?(?:don't |do not |never |always )?{behave}\b.*",
    rf"{_ORDER}{_STOP} {_IDLE}(?:{{behave}}|\w+ing) (?!me (?:back|now|the|a)\b|a\b|an\b|the\b)(?![^,]*\b(?:this|that|it|those|these|them|yet|now|here|first|above|below|line|file)\b).{{3,}}",
    r"^(?:{please}[ ,]+){0,3}no [a-z]+(?: [a-z]+){0,4}(?:[, ]+(?:please|ever|{lasting}))+$",
    r"^(?:please,? )?(?:from now on|going forward|from here on(?: out| in)?|henceforth),? (?!{i}\b|{pointing}\b|my\b|our\b|the\b|he\b|she\b|they\b|no\b).{4,}",
    r"^(?:every|any|all|each) .{2,40}\byou (?:give|send|write|show|make|suggest|recommend)(?: me)? (?:should|must|shouldn't|needs? to|has to|have to)\b.{3,}",
    r"^(?:all|every|any|only) [\w' -]{3,50}(?:,? (?:please|always))+$",
    r"^(?:please )?(?:use|speak|talk|be|stick to) .{3,}(?:with|to) me$",
    r"^you (?:don't|do not|needn't) (?:need to |have to )?{behave}\b.*\bto me$",
    r"^(?:please )?(?:address|refer to|call) me (?:as|by) .{2,}",
    r"^(?:please )?(?:text|call|email|message|ring|contact|write to|ping|reach|phone|whatsapp) (?:me|us)\b.*\b(?:rather than|instead of|not|only|never|via)\b.*",
    r"^(?!{i}\b|{pointing}\b|{explained}\b|is\b|are\b|do\b|he\b|she\b|they\b|if\b|my\b)[\w' -]{3,60}\b{lasting}(?:,? please)?$",
    r"^(?:{please}[ ,]+){0,3}you (?:must|should|may|can|are|need)(?: not|n't| never| always| only| to)+(?: ever)? (?:{behave}|allowed)\b.{3,}",
    r"^(?:{please}[ ,]+){0,3}you (?:must|should|may|can) {behave}\b.*\b(?:unless|without|always|never|every|before|only)\b.*",
    rf"{_ORDER}keep (?:all |every |each |your |the )*(?:answers?|repl(?:y|ies)|responses?|messages?|explanations?)\b.*",
    rf"{_ORDER}{{behave}} .*\b(?:your|all|any|every|each|all your|all my) (?:\w+ )?(?:answers|replies|responses|messages|explanations|summaries|comments|dates|times|prices|units|measurements|examples|recipes|emails)\b(?!.*\b(?:this|that|these|above|below)\b).*",
    r"^i(?:'d| would) (?:rather|prefer it if|like it if|appreciate it if) you (?!could (?:help|tell|explain|give|write))(?!\w+ (?:this|that|it)\b).{5,}",
)  # fmt: skip
_ZH_ONCE = r"(?!.*(?:{once}|[了吧吗呢？?]$))"
_INSTRUCTION_ZH = (
    r"^(?!.*(?:{once}|吗|呢$|什么|怎么|哪|谁|多少))(?:[^，。]{0,14}[，,])?(?:回我|{please})*(?:{lasting})(?!没|再|有|我们|咱|我(?:就|还|会|想|要|也|一直)).*?(?:{please}|{forbid}|{lasting}|，|,|都|按|给|用|找)?(?:{order}|{forbid}).*",
    r"^(?:{please})*(?:未经我|没经我|没有?问过我|(?:没有|没经|未经|没得到)我的?(?:允许|同意|许可|批准))[^，。]{0,6}[，,]?(?:都|绝对)?(?:{forbid}|不能).{2,}",
    rf"^(?!.*{{once}})(?:[^，。我/]{{0,14}}|跟我[^，。]{{0,6}}|和我[^，。]{{0,6}}|给我[^，。]{{0,8}}|对我[^，。]{{0,4}})[，,]?(?:{{please}}|{{lasting}})*(?:都)?{{forbid}}(?:再|在)?[^，。]{{0,10}}?{{order}}{_ZH_ONCE}.{{1,}}",
    rf"^(?:{{please}})*{{forbid}}(?:再{_ZH_ONCE}.{{3,}}|(?:老是?|总是?|动不动){_ZH_ONCE}.{{2,}})",
    rf"^(?=.{{5}})(?:{{please}}|你)*(?:{{forbid}}){_ZH_ONCE}(?:在[^，。]{{1,8}}?|把|随便|随意|擅自)?(?:{{order}}).*",
    rf"^你?(?:必须|务必|一定要)(?:先|经过|遵守|跑|备份|确认|{{order}}){_ZH_ONCE}.{{2,}}",
    rf"^(?:(?:{{please}})+(?:总是|一直|始终|一定要?|都)|永远|务必)(?!帮){_ZH_ONCE}.{{3,}}",
    rf"^(?:所有)?(?:{{output}}(?:[里中]?的)?){{1,2}}(?:格式|内容|里)?(?:请|都|一律|统一|要|尽量|也)*(?:用|使用|采用|写成|保持|按|不要|别|不能|不得|不超过|超过|控制在|限制在|少于|精确到|保留)(?!过|了|的|什么|哪){_ZH_ONCE}[^。]{{2,24}}$",
    r"^(?:(?:跟|和|对|给)我)?(?:回答|回复|写代码|提交|说话|称呼|聊天|推荐|列计划|写|讲)[^，。]{0,6}(?:的时候|时)[，,]?(?:请|都|要|不要|别|先|尽量).*",
    r"^(?:跟|和|对)我(?:聊天|说话|讲话|交流|沟通)[^，。]{0,4}(?:请|要|都|得|用)[^，。]{2,}",
    r"^有(?:事|问题|急事|情况)(?:就|请|都|直接|可以)*(?:发|打|用|找|写)[^，。]{1,10}[，,]?(?:就好|就行|即可)?(?:[，,]?(?:不要|别|不用)[^，。]{1,10})?$",
    r"^.{2,16}(?:之前|以前|前)[，,]?(?:都|一定|必须|务必|请)*(?:要|得)?先(?:问|告诉|通知|征求|让|跟我)(?:一下)?我?.*",
    r"^(?!.*(?:{once}|一[个份篇首段]|[吗呢？?]))给我的[^，。]{1,8}(?:都|请|要|得|必须|别|不要|控制)[^，。]{2,}",
    r"^.{4,}[，,]以后(?:都|就|也)(?:这样|这么|按|照).*",
    r"^(?!.*{once})[^，。]{0,16}(?:统一|一律|固定|默认)(?:用|写|按|采用|放|叫)[^，。]{1,}",
    r"^(?:please )?never\s*[\u4e00-\u9fff].{2,}",
)  # fmt: skip

_DAY_FIRST = r"(?:(?:just |only |early |late |on |earlier )*(?:(?:last|this) \w+|yesterday|today|\w+ \d{1,2}(?:st|nd|rd|th)?|\d{1,2} \w+|\w+day)(?: morning| evening| night| afternoon)?,? )?"
_EVENT_EN = rf"^{_DAY_FIRST}{{i}}{_HAVE} {_ADV}(?:both |successfully )*(?P<did>{{shipped}}|{{lived}})\b(?! (?:it|that|this|to|rid|stuck|confused|invited|asked|told)\b| (?:[\w'-]+ ){{0,2}}{{passing_thing}}\b| the (?:error|same|message)\b).*"
_EVENT_ZH = (
    r"^(?=.*(?:我|咱)).*?(?P<did>{shipped}|{lived})(?:[^，。]{0,12}(?:了|完|好|过).*|(?<=[完好定]).*|(?<=毕业).*)"
)

_WILL = r"(?:'m| am|'re| are|'ll| will|'ll be| will be| have to| need to| must|'ve got to| have got to)?"
_PLAN_EN = (
    rf"{_SELF}{_WILL} (?:also |then |both )?(?:{{present_plan}}|{{life_plan}}|leave|head|go (?:to (?=(?-i:[A-Z])|the)|on)|meet|see|present|speak|give a|sit|hand in|submit|deliver|pick up)\b(?! (?:it|that|this|what|how|if|you)\b)",
    r"\b{i}(?:'ve got| have| have got|'ll have| will have| got)(?: an?| my| our| the| another)? (?:\S+ ){0,3}?{occasion}\b",
    r"^(?!.*\byou)(?!.*\b{i} (?:{adverb} )*(?:\w+ed|{irregular_past})\b)(?:(?:my|our|the) )?(?:\S+ ){0,4}?{occasion}s?\b.*?(?:'s|\b(?:is|are|has|been|got|getting|will)\b)?.*\b{scheduled}\b",
    r"^(?:the|my|our) (?:[\w-]+ ){1,3}?(?:expires?|runs? out|is due|are due|ends?|starts?|begins?|closes?|opens?|leaves?|lands?|arrives?)\b",
    rf"{_KIN}(?:'s| is| are| has| will|'ll)? (?:{{present_plan}}|{{scheduled}}|have|has|{{habitual}}s?)\b",
)  # fmt: skip
_PLAN_ZH = (
    r"^(?!.*(?:{habit}|应该|可能|想|要不|建议|计划了|不)).*?(?:{occasion}|(?:{with}|{self}|{kin}).*(?:要|会|去|来|定在|到)).*",
)


def read(clause: str, people: Iterable[str] = ()) -> str:
    """The rule by which a plain clause states something that lasts, empty where it does not.

    Args:
        people: names of those near the speaker, of whom a clause may be.
    """
    if _is_passing(clause):
        return ""
    rule = _chinese(clause, people) if has_chinese(clause) else _english(clause, people)
    often = rule == STATEMENT and _found(
        clause, r"{habit}", r"\b(?:usually|normally|typically|generally|often|rarely|always|{frequency})\b"
    )
    return HABIT if often else rule


def _chinese(clause: str, people: Iterable[str]) -> str:
    forms = ((rule, words.pattern(CHINESE, _with(form, people))) for rule, form in _CHINESE)
    return next((rule for rule, form in forms if form.match(clause)), "")


def _english(clause: str, people: Iterable[str]) -> str:
    """The subject is read once, then what is said of it."""
    for subject, predicates in _ENGLISH:
        if begun := words.pattern(ENGLISH, _with(subject, people)).match(clause):
            forms = ((rule, words.pattern(ENGLISH, form)) for rule, form in predicates)
            if rule := next((rule for rule, form in forms if form.match(clause, begun.end())), ""):
                return rule
    return ""


def decides(clause: str) -> bool:
    """Whether a clause says what was decided."""
    return read(clause) == DECISION


def _is_passing(clause: str) -> bool:
    return _found(clause, r"{unserious}|{momentary}", r"(?<!\w)(?:{unserious}|{momentary})(?!\w)|\b{momentary_end}$")


def unserious(text: str) -> bool:
    """Whether a sentence laughs at itself, or is said in a story."""
    return _found(text, r"{unserious}", r"(?<!\w)(?:{unserious})(?!\w)")


def is_exercise(text: str) -> bool:
    """Whether a question is one of a school book: "I have 3 apples and eat one, how many are left?"."""
    return _found(
        text,
        r"(?:剩|一共|总共|平均|要跑|各有?)[^。？]{0,6}(?:多少|几)",
        r"\bhow (?:many|much|far|fast)\b.*\b(?:left|in total|altogether|each)\b",
    )


def requested(text: str, asks: bool = False) -> str:
    """What a sentence asks to remember, empty where it does not: "note that …", "…, don't forget".

    Args:
        asks: it ends in a question mark; then it must ask politely: "can you make a note that …?"
    """
    if asks and not _is_polite(text):
        return ""
    forms, language = (_REMEMBER_ZH, CHINESE) if has_chinese(text) else (_REMEMBER_EN, ENGLISH)
    match = next(filter(None, (words.pattern(language, form).match(text) for form in forms)), None)
    return match["x"] if match else ""


def _is_polite(text: str) -> bool:
    return _found(text, r"^(?:能|可以|可否|可不可以|麻烦|请)", r"^(?:please,? )?(?:can|could|would|will) you\b")


def points(text: str) -> bool:
    """Whether a sentence says nothing but that another one is to be remembered."""
    return _found(text, _POINTING_ZH, _POINTING_EN)


def instructs(text: str, asks: bool = False) -> bool:
    """Whether a sentence says how the assistant is to behave for good.

    Args:
        asks: it ends in a question mark; then it must ask politely: "could you always …?"
    """
    if _found(text, r"(?!)", r"\b{once}") or (asks and not _is_polite(text)):
        return False
    return any(_found(text, form, form) for form in (_INSTRUCTION_ZH if has_chinese(text) else _INSTRUCTION_EN))


def plans(text: str) -> bool:
    """Whether a clause that names a day speaks of something that is due on it."""
    if is_yearly(text):
        return False
    return any(_found(text, form, form) for form in (_PLAN_ZH if has_chinese(text) else _PLAN_EN))


def is_yearly(text: str) -> bool:
    """Whether a day is one of every year, such as a birthday: it is not over once it has passed."""
    return _found(text, r"{yearly}", r"\b{yearly}\b")


def happened(text: str) -> str:
    """What a clause says was done, as its verb; empty where it says nothing of the kind."""
    match = _pattern(text, _EVENT_ZH, _EVENT_EN).match(text)
    return match["did"] if match else ""


def is_work(deed: str) -> bool:
    """Whether what was done is work by its verb: "shipped", "上线"."""
    return _found(deed, r"^{shipped}$", r"^{shipped}$")


def constrains(text: str) -> bool:
    """Whether an instruction limits what may be done."""
    return _found(text, r"{constrains}", r"\b(?:{constrains}|n't)\b")


def about(text: str) -> tuple[str, str]:
    """The category and subcategory of a text, by the words in it."""
    if _found(text, rf"{_WO}{_AD}{{taste}}", rf"{_SELF} {_ADV}{{taste}}\b"):
        return "preference", "taste"
    for name, subcategory in (("health", "health"), ("kin", "relationship"), ("dwelling", "home")):
        if _found(text, f"{{{name}}}", rf"\b{{{name}}}\b"):
            return "life", subcategory
    return "", ""


def _with(form: str, people: Iterable[str]) -> str:
    named = "|".join(re.escape(name) for name in people)
    return form.replace("{person}", f"(?-i:{named})" if named else r"(?!)")


def _language(text: str) -> str:
    return CHINESE if has_chinese(text) else ENGLISH


def _found(text: str, chinese: str, english: str) -> bool:
    return _pattern(text, chinese, english).search(text) is not None


def _pattern(text: str, chinese: str, english: str) -> re.Pattern[str]:
    """The pattern of a text's language."""
    language = _language(text)
    return words.pattern(language, _with(chinese if language == CHINESE else english, ()))
