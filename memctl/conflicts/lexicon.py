"""The words the search for contradictions knows, English and Chinese: a small list of rules, not a dictionary.

A word that is in no list is a plain content word: it can make two statements differ, never contradict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NEGATIONS = frozenset(
    """not no never neither nor none nobody nothing without cannot 不 没 没有 不再 再也不 从不 从来不 从没 从来没 绝不
    并不 并没有 无 未 别 不要 不是 未曾""".split()
)

DIMENSIONS: Mapping[str, tuple[str, int]] = {
    word: (dimension, sign)
    for dimension, sign, words in (
        ("like", +1, "likes like love loves enjoy enjoys adore adores prefer prefers 喜欢 喜爱 热爱 爱 钟爱 偏爱"),
        ("like", -1, "hate hates dislike dislikes detest detests loathe loathes avoid avoids 讨厌 厌恶 反感 受不了 恨"),
        ("eat", +1, "eat eats drink drinks eating drinking 吃 喝"),
        ("allow", +1, "can may allowed permitted allow allows permit permits 可以 能 能够 允许 准许"),
        ("allow", -1, "forbidden banned prohibited forbid forbids disallowed 禁止 严禁 不准 不许 不得 不能 不可以"),
        ("need", +1, "need needs required requires require must 需要 必须"),
        ("need", -1, "不必 不用 无需 不需要"),
        ("on", +1, "enabled open active 打开 开启 启用 开着 开放"),
        ("on", -1, "disabled closed inactive off 关闭 停用 禁用 关着 关掉"),
        ("married", +1, "married 已婚 结婚"),
        ("married", -1, "single unmarried divorced 单身 未婚 离婚 离异"),
        ("have", +1, "has have own owns 有 拥有"),
        ("can", +1, "会"),
        ("public", +1, "public 公开"),
        ("public", -1, "private 私有 保密"),
        ("support", +1, "supports support accepts accept 支持 赞成 接受"),
        ("support", -1, "opposes oppose rejects reject refuses refuse 反对 拒绝"),
    )
    for word in words.split()
}
"""Opposites: a word stands for its dimension, and the signs of all words and negations of a statement multiply."""

ALTERNATIVES: Mapping[str, tuple[str, int]] = {
    word: (f"{one}/{other}", sign)
    for one, other in (
        ("dark", "light"), ("window", "aisle"), ("tabs", "spaces"), ("paper", "digital"),
        ("vim", "emacs"), ("mac", "windows"), ("深色", "浅色"), ("靠窗", "靠过道"), ("纸质", "电子"),
    )
    for word, sign in ((one, +1), (other, -1))
}  # fmt: skip
"""Choices of which one excludes the other, where somebody says what they prefer or use."""

CHOOSING = frozenset("prefer prefers use uses want wants 喜欢 更喜欢 用 选 习惯".split())

CLASSES: Mapping[str, frozenset[str]] = {
    name: frozenset(members.split())
    for name, members in (
        ("meat", "meat steak beef pork chicken bacon ham lamb 肉 红烧肉 牛排 牛肉 猪肉 鸡肉 羊肉 排骨 腊肉"),
        ("alcohol", "alcohol wine beer whisky whiskey vodka gin cocktail 酒 红酒 白酒 啤酒 葡萄酒 黄酒 鸡尾酒"),
        ("nuts", "nuts nut almond cashew walnut hazelnut pesto marzipan 坚果 核桃 腰果 杏仁"),
        ("dairy", "dairy milk cheese butter yoghurt yogurt 奶 牛奶 奶酪 酸奶"),
        ("seafood", "seafood shrimp prawn crab lobster 海鲜 虾 螃蟹 龙虾"),
    )
}  # fmt: skip
"""What one eats or drinks as one of a kind: whoever eats none of the kind does not eat one of its members."""

ABSTAINS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kinds)
    for pattern, kinds in (
        (r"(?<!not )(?<!not a )\bvegetarian\b(?! \w)|(?<!不)吃素|(?<!不是)素食者", ("meat", "seafood")),
        (r"(?<!not )(?<!not a )\bvegan\b(?! \w)|(?<!不是)纯素", ("meat", "seafood", "dairy")),
        (r"\bteetotal|滴酒不沾|(?<!从)不喝酒|戒酒了", ("alcohol",)),
    )
)

QUALIFIERS = frozenset(
    """in at on with after before when for during except unless by from to of until since while about into than over
    under through near around towards toward against between across per only most every each once twice if as via
    per because 早上 早晨 上午 中午 下午 傍晚 晚上 夜里 凌晨 周末 夏天 冬天 春天 秋天 平时 工作日 每天 天天 睡前
    饭后 饭前 晚饭 午饭 早饭""".split()
)
"""After such an English word comes what a statement is limited to; a Chinese one is such a limit itself."""

FILLERS = frozenset(
    """very really quite just also still now currently always usually often sometimes already actually even too so much
    many some any at all anymore well that there's 很 非常 特别 比较 经常 常常 常 总是 一直 一般 通常 都 也 还 还是
    就 才 又 已经 现在 目前 真 挺 蛮 最 更 再 每 每个 要 想要 改 了 的 着 地 得 是 在 把 被 给 对 从 到 用 于 上 里
    中 之 和 与 跟 及 或 而 但 但是 所以 因为 其实 时 自己 吧 呢 啊 等 其 这 那 一 个 些 只 不仅 不但 不只 不超过
    不到 不足 超过 至少 最多 以上 以下 左右 大约 为 为了 叫 她 他 它 她们 他们""".split()
)
"""Words that change nothing of what a statement says."""

KEPT = frozenset(
    """时间 小时 时代 开会 例会 组会 会议 会员 社会 机会 不错 不同 差不多 有限 有效 有趣 没关系 能力 能源 爱情 爱人
    可爱 爱好 要求 重要 主要""".split()
)
"""Chinese words in which a character of the lists above means something else."""

THINGS_OF_ONE = frozenset(
    """birthday name age address phone email employer hometown deadline budget password timeout limit port version
    branch size height weight nationality salary rent price cost fee location colour color language database
    framework editor number theme currency timezone zone pin username host url owner editor capital headquarters due
    生日 名字 年龄 地址 电话 手机号 邮箱 籍贯 截止日期 预算 密码 上限 端口 版本 身高 体重 工资 房租 租金 价格 费用
    颜色 乐队 城市 时区 货币 车牌号 学号 工号 主题 域名 编辑器 数据库""".split()
)
"""Attributes of which a thing has one."""

PEOPLE_OF_ONE = frozenset(
    """manager boss wife husband spouse partner boyfriend girlfriend fiance fiancee father mother doctor dentist
    landlord supervisor mentor leader lead ceo cto teacher 导师 老板 上司 经理 领导 老公 丈夫 妻子 老婆 男朋友
    女朋友 对象 爸爸 妈妈 父亲 母亲 医生 家庭医生 牙医 房东 组长 班主任""".split()
)
"""Roles that one person has at a time."""

RELATIVES = frozenset(
    """sister brother mother father son daughter wife husband partner friend colleague boss manager uncle aunt cousin
    grandmother grandfather neighbour neighbor team dog cat parents children landlord flatmate""".split()
)
"""Words that say whom a statement is about."""

EVENTS = frozenset(
    """meeting class lesson course call standup session appointment rehearsal deadline delivery deploy release backup
    report review window shift training practice starts start begins begin ends end opens open closes close leaves
    leave sleep bed wakes wake gets birthday defence defense exam interview party flight train alarm 课 会 例会 组会
    班 航班 火车 预约 门诊 比赛 演出 睡 起床 上班 下班 开始 结束 上线 备份 截止 生日 答辩 考试 面试 出发 起飞 开门
    关门 闹钟""".split()
)
"""What happens at one time of the day or the week."""

EVALUATIONS = frozenset(
    """great good sure nice fine true right okay ok glad happy sorry agree thing way time know think matter wrong bad
    好 对 行 错 懂 知道 同意""".split()
)
"""Words that say nothing without what they are said of."""

SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤阿"
)

VERBS = frozenset(
    """is are am was were has have had do does did can could will would should must may might need needs live lives
    work works drive drives take takes wear wears run runs speak speaks keep keeps want wants use uses play plays
    read reads study studies go goes get gets own owns teach teaches write writes start starts end ends sleep sleeps
    give gives likes loves hates prefers enjoys dislikes carries carry asks ask knows know lead leads looks look
    call calls
    住 在 是 喜欢 讨厌 不 没 有 会 可以 能 叫 养 用 爱 吃 喝 读 学 做 习惯 每 希望 觉得 需要 想 对 从""".split()
)
"""Where the subject of a statement ends."""

CONDITION = re.compile(
    r"\b(?:(?:could|would|might)n['’]t|if|unless|whether|suppose|in case|might"
    r"|maybe|perhaps|possibly|could|would|probably|rumou?r|may (?:be|have))\b"
    r"|如果|要是|假如|假设|除非|的话|可能|也许|大概|好像|或许|听说|听.{0,6}说|不一定|据说|估计",
    re.IGNORECASE,
)
QUESTION = re.compile(r"[?？]\s*$|吗[。？?]?\s*$|(?:是不是|能不能|会不会|有没有|要不要|什么|怎么|为什么|哪里|多少)")
PLAN = re.compile(
    r"\b(?:plans?|planning to|wants? to|hopes?|intends?|considering|thinking of|going to|will"
    r"|\w+['’]ll|next (?:year|month|week)"
    r"|soon|wish(?:es)?)\b|打算|计划|准备|希望|考虑|将要|想去|想要|将来|以后想",
    re.IGNORECASE,
)
PAST = re.compile(
    r"\b(?:(?:did|was|were|had)n['’]t|used to|formerly|previously|in the past|back then|as a child"
    r"|was|were|had|did|last (?:year|month|week)"
    r"|yesterday|ago|went|came|bought|took|ate|drank|ran|met|saw|told|said|got|made|gave|wrote|spent|began|left"
    r"|felt|found|lost|won|sold|sent|kept|thought|heard|read it|slept|taught|flew|drove|swam|paid|became|caught)\b"
    r"|以前|曾|过去|小时候|原来|当年|那时|原先|之前|上周|上个月|去年|昨天|前天"
    r"|[买去看跑做写花参见收发卖学读打拿订吃喝聊遇](?:加|到|完)?[了过]|了[一二两三四五六七八九十\d]",
    re.IGNORECASE,
)
PAST_VERB = re.compile(r"(?<!is )(?<!are )(?<!be )(?<!been )(?<!get )(?<!gets )(?<!has )(?<!have )(?<!not )(?<!the )"
                       r"(?<!a )\b(?!need|limited|called|based|enabled|disabled|allowed|closed|married|named|permitted|"
                       r"banned|prohibited|required|divorced|hundred|embed|exceed|feed|speed|seed|breed|bleed|"
                       r"red\b|bed\b|shared\b|hated\b)[a-z]{2,}ed\b")  # fmt: skip
"""A word in the past tense, as far as its letters tell: not after a form of "be", which makes it a state."""

NEVER_YET = re.compile(r"\b(?:have|has|['’]ve|['’]s)\s+never\b|从来?没有?|从未", re.IGNORECASE)
"""Denies every time so far: what happened once contradicts it."""

PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"\b(?:can['’]t|cannot|can not) (?:stand|bear)\b", "hates"),
        (r"\b(?:no longer|not any ?more)\b", "not"),
        (r"\bnot (?:only|just|necessarily)\b|\bno matter\b|\bno (?:doubt|wonder|problem|worries)\b", ""),
        (r"\b(?:is|am|are) (?:a (?:big )?fan of|fond of|keen on)\b", "likes"),
        (r"\b(?:turned|switched) on\b|\b(?<=is )on(?=[.,;]|$)", "enabled"),
        (r"\b(?:turned|switched) off\b|\b(?<=is )off(?=[.,;]|$)", "disabled"),
        (r"\bcannot\b|\bcan['’]t\b", "can not"),
        (r"\bwon['’]t\b", "will not"),
        (r"(?<=[a-z])n['’]t\b", " not"),
        (r"\bnever\b", "not"),
        (r"不(?:能|得|可以|可|应)?超过|不(?:能|得)?(?:多于|大于|高于)", " 最多 "),
        (r"不过敏", "不 过敏"), (r"的?时候", "时"),
        (r"喜欢([吃喝])|爱([吃喝])", r"喜欢 \1\2"),
        (r"没兴趣", "没有兴趣"), (r"(?<=[\u4e00-\u9fff])会(?=[的在是]|$)", "会议"), (r"滴酒不", "不喝酒 "),
    )
)  # fmt: skip
"""Ways of saying put into the words the lists above know."""

PHRASES_IN_ASCII = tuple(phrase for phrase in PHRASES if not re.search(r"[\u3400-\u9fff]|u4e00", phrase[0].pattern))
